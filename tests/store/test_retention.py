"""Which checkpoints are kept."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from pitstop.record import build
from pitstop.store.best_rule import BestRule
from pitstop.store.manifest import STATE_FILE, CheckpointInfo, FileEntry, Manifest
from pitstop.store.retention import RetentionPolicy, choose_expired, tensors_files, why_kept

HOUR = 3600.0
FILE = FileEntry(1, "0" * 16)


def manifest(
    sequence: int,
    milestone: str = "",
    *,
    name: str = "",
    metrics: dict[str, float] | None = None,
    created_seconds: float = 0.0,
    writers: tuple[int, ...] = (),
    fit: int = 0,
    non_finite: tuple[str, ...] = (),
) -> Manifest:
    """A checkpoint; `writers` are the numbers of those that wrote its tensors files."""
    place = (sequence, 0, 0, fit, milestone, 1)
    about = CheckpointInfo(
        *place,
        "cadence",
        "exact",
        created_seconds,
        {},
        name=name,
        metrics=metrics or {},
        non_finite=non_finite,
    )
    others = {f"tensors-{writer:08d}.safetensors": FILE for writer in writers}
    return Manifest(sequence, about, {"tensors.safetensors": FILE, STATE_FILE: FILE, **others}, {})


@st.composite
def histories(draw: st.DrawFn) -> list[Manifest]:
    """Checkpoints in the order of their commits; the clock may be set back."""
    count = draw(st.integers(0, 9))
    return [
        manifest(
            sequence,
            draw(st.sampled_from(["", "", "", "fit_end"])),
            name=draw(st.sampled_from(["", "", "", "mine"])),
            metrics=draw(
                st.dictionaries(st.sampled_from(["loss", "auc"]), st.integers(0, 4).map(float))
            ),
            created_seconds=draw(st.integers(0, 12)) * HOUR / 2,
            writers=tuple(draw(st.sets(st.integers(1, sequence - 1), max_size=2)))
            if sequence > 1
            else (),
        )
        for sequence in range(1, count + 1)
    ]


RULES = st.builds(
    BestRule, st.sampled_from(["loss", "auc"]), st.integers(1, 3), st.sampled_from(["min", "max"])
)
POLICIES = st.builds(
    RetentionPolicy,
    st.integers(-1, 6),
    st.sampled_from([0.0, HOUR, 3 * HOUR]),
    st.lists(RULES, max_size=2).map(tuple),
)


def kept(manifests: list[Manifest], policy: RetentionPolicy) -> list[Manifest]:
    expired = choose_expired(manifests, policy)
    return [each for each in manifests if each.sequence not in expired]


def sequences(manifests: list[Manifest]) -> set[int]:
    return {each.sequence for each in manifests}


@given(histories(), POLICIES)
def test_the_newest_the_milestones_and_the_named_are_kept(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    left = kept(manifests, policy)
    assert manifests[-1:] == left[-1:]
    for each in manifests:
        assert each in left or not (each.info.milestone or each.info.name)


@given(histories(), POLICIES)
def test_the_newest_ones_are_kept(manifests: list[Manifest], policy: RetentionPolicy) -> None:
    assert sequences(manifests[-max(policy.keep_last, 1) :]) <= sequences(kept(manifests, policy))


@given(histories(), POLICIES)
def test_one_of_every_span_is_kept(manifests: list[Manifest], policy: RetentionPolicy) -> None:
    if not policy.keep_every_seconds:
        return

    def spans(of: list[Manifest]) -> set[float]:
        return {each.info.created_seconds // policy.keep_every_seconds for each in of}

    assert spans(kept(manifests, policy)) == spans(manifests)


@given(histories(), POLICIES)
def test_no_value_that_is_given_up_is_better_than_one_that_is_kept_for_it(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    left = kept(manifests, policy)
    for rule in policy.keep_best:

        def values(of: list[Manifest], metric: str = rule.metric) -> list[float]:
            return [each.info.metrics[metric] for each in of if metric in each.info.metrics]

        down = rule.mode == "max"
        best = sorted(values(manifests), reverse=down)[: rule.count]
        assert sorted(values(left), reverse=down)[: rule.count] == best


@given(histories(), POLICIES)
def test_what_shares_no_file_with_the_newest_is_kept(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    def independent(of: list[Manifest]) -> list[Manifest]:
        return [each for each in of if not tensors_files(each) & tensors_files(of[-1])]

    assert independent(kept(manifests, policy))[-1:] == independent(manifests)[-1:]


@given(histories(), POLICIES)
def test_what_is_kept_has_a_reason_and_nothing_else_is(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    reasons = why_kept(manifests, policy)
    assert reasons.keys() == sequences(kept(manifests, policy))
    assert all(reasons.values())
    every_rule = bool(policy.keep_best) or bool(policy.keep_every_seconds)
    most = max(policy.keep_last, 1) + 1
    free = [each for each in manifests if not each.info.milestone and not each.info.name]
    assert every_rule or len(sequences(free) & reasons.keys()) <= most


@given(histories(), POLICIES)
def test_pruning_twice_is_pruning_once(manifests: list[Manifest], policy: RetentionPolicy) -> None:
    left = kept(manifests, policy)
    assert kept(left, policy) == left


@given(histories(), POLICIES)
def test_pruning_after_every_checkpoint_keeps_what_pruning_at_the_end_does(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    left: list[Manifest] = []
    for each in manifests:
        left = kept([*left, each], policy)
    lasting = {
        sequence
        for sequence, reasons in why_kept(manifests, policy).items()
        if set(reasons) != {"independent"}
    }
    assert lasting <= sequences(left)


@given(histories(), POLICIES, st.randoms())
def test_the_order_they_are_listed_in_does_not_matter(
    manifests: list[Manifest], policy: RetentionPolicy, random: object
) -> None:
    shuffled = list(manifests)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert why_kept(shuffled, policy) == why_kept(manifests, policy)


@given(POLICIES)
def test_a_policy_travels_as_json(policy: RetentionPolicy) -> None:
    assert build(RetentionPolicy, "retention", json.loads(json.dumps(policy.to_json()))) == policy


def test_three_are_kept_unless_told_otherwise() -> None:
    manifests = [manifest(number) for number in (5, 1, 4, 2, 3)]
    assert choose_expired(manifests, RetentionPolicy()) == {1, 2}


def test_a_copied_checkpoint_does_not_push_its_own_number_out() -> None:
    manifests = [manifest(3), manifest(4), manifest(5), manifest(5)]
    assert choose_expired(manifests, RetentionPolicy(keep_last=2)) == {3}


def test_a_checkpoint_built_on_an_earlier_one_does_not_stand_for_it() -> None:
    chain = [manifest(1), manifest(2), manifest(3, writers=(2,)), manifest(4, writers=(2, 3))]
    assert choose_expired(chain, RetentionPolicy(keep_last=1)) == {2, 3}
    assert why_kept(chain, RetentionPolicy(keep_last=1)) == {4: ("newest",), 1: ("independent",)}


def test_the_best_of_equal_values_is_the_earlier() -> None:
    manifests = [manifest(number, metrics={"loss": 0.5}) for number in range(1, 6)]
    policy = RetentionPolicy(keep_last=1, keep_best=(BestRule("loss", 1, "min"),))
    assert choose_expired(manifests, policy) == {2, 3}


def test_a_clock_that_is_set_back_gives_nothing_up_that_is_needed() -> None:
    times = (10.1, 10.5, 9.9, 10.6, 10.7, 10.8)
    manifests = [
        manifest(number, created_seconds=hours * HOUR) for number, hours in enumerate(times, 1)
    ]
    policy = RetentionPolicy(keep_last=1, keep_every_seconds=HOUR)
    assert choose_expired(manifests, policy) == {2, 4}
    assert math.isclose(manifests[2].info.created_seconds, 9.9 * HOUR)


def test_the_newest_state_of_a_training_that_was_left_is_kept() -> None:
    """It may be reached again; of many such, the last are kept."""
    left = [manifest(sequence, fit=sequence // 2) for sequence in range(1, 10)]
    found = [*left, manifest(10, "fit_end", fit=9), manifest(11, fit=10)]
    assert sequences(kept(found, RetentionPolicy(keep_last=1))) >= {5, 7, 9}
    ended = [manifest(1, fit=0), manifest(2, "fit_end", fit=0), manifest(3, fit=1)]
    assert 1 not in {
        sequence
        for sequence, why in why_kept(ended, RetentionPolicy(1)).items()
        if "interrupted" in why
    }


def test_the_newest_finite_one_stays_where_the_newest_is_not() -> None:
    bad = [manifest(sequence, non_finite=("kernel",), writers=(1,)) for sequence in (4, 5, 6, 7)]
    good = [manifest(sequence, writers=(1,)) for sequence in (2, 3)]
    kept = why_kept([*good, *bad], RetentionPolicy(2))
    assert kept[3] == ("finite",)
    assert set(kept) == {3, 6, 7}
    assert why_kept(good, RetentionPolicy(2))[3] == ("newest",)
