"""Whatever the rules find, in whatever order: the ranking keeps its word."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnosis import CAUSES, CauseId, Finding
from pitstop.diagnosis.engine import YIELDS_TO, rank

_LIKELY = 0.5

causes: st.SearchStrategy[CauseId] = st.sampled_from(CAUSES)
findings = st.builds(
    Finding,
    cause=causes,
    confidence=st.floats(0.01, 1.0),
    summary=st.sampled_from(["a.", "b.", "c."]),
)
many = st.lists(findings, max_size=12)


@given(many)
def test_the_likeliest_comes_first_and_each_cause_once(found: list[Finding]) -> None:
    ranked = rank(found)
    assert [each.confidence for each in ranked] == sorted(
        (each.confidence for each in ranked), reverse=True
    )
    assert len({each.cause for each in ranked}) == len(ranked)


@given(many)
def test_nothing_is_invented_and_not_all_is_lost(found: list[Finding]) -> None:
    ranked = rank(found)
    assert set(ranked) <= set(found)
    assert bool(ranked) == bool(found)


@given(many)
def test_what_is_dropped_has_a_better_one_in_its_place(found: list[Finding]) -> None:
    ranked = rank(found)
    kept = {each.cause: each for each in ranked}
    likely = {each.cause for each in found if each.confidence >= _LIKELY}
    for each in found:
        if each.cause in kept:
            assert kept[each.cause].confidence >= each.confidence
        else:
            assert YIELDS_TO[each.cause] & likely


@given(many, st.randoms(use_true_random=False))
def test_the_order_in_which_rules_run_does_not_matter(found: list[Finding], chance: Random) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)
    ranked = [(each.cause, each.confidence) for each in rank(found)]
    again = [(each.cause, each.confidence) for each in rank(shuffled)]
    assert sorted(ranked) == sorted(again)


@given(many)
def test_ranking_again_changes_nothing(found: list[Finding]) -> None:
    assert rank(rank(found)) == rank(found)


@given(many, findings)
def test_a_remark_never_takes_the_first_place(found: list[Finding], remark: Finding) -> None:
    ranked = rank(found)
    if not ranked or remark.confidence >= min(_LIKELY, ranked[0].confidence):
        return
    assert rank([*found, remark])[0] == ranked[0]


def test_nobody_yields_in_a_circle() -> None:
    def reach(cause: CauseId, seen: frozenset[CauseId]) -> frozenset[CauseId]:
        further = YIELDS_TO.get(cause, frozenset()) - seen
        return seen.union(further, *(reach(each, seen | further) for each in further))

    for cause in YIELDS_TO:
        assert cause not in reach(cause, frozenset())
