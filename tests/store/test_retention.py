"""Which checkpoints are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.store.manifest import Manifest
from pitstop.store.retention import RetentionPolicy, choose_expired
from tests.store.samples import info


def manifest(sequence: int, milestone: str = "") -> Manifest:
    return Manifest(sequence, info(sequence, milestone), {}, {})


MANIFESTS = st.lists(
    st.builds(manifest, st.integers(1, 30), st.sampled_from(["", "", "fit_end"])), max_size=20
)
POLICIES = st.builds(RetentionPolicy, st.integers(-1, 6))


@given(MANIFESTS, POLICIES)
def test_the_newest_and_every_milestone_are_kept(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    expired = choose_expired(manifests, policy)
    sequences = [each.sequence for each in manifests]
    assert expired <= set(sequences)
    assert not sequences or max(sequences) not in expired
    assert not expired & {each.sequence for each in manifests if each.info.milestone}


@given(MANIFESTS, POLICIES)
def test_nothing_else_is_kept_beyond_the_count(
    manifests: list[Manifest], policy: RetentionPolicy
) -> None:
    kept = [m for m in manifests if m.sequence not in choose_expired(manifests, policy)]
    milestones = {m.sequence for m in kept if m.info.milestone}
    newest = sorted({m.sequence for m in manifests})[-max(policy.keep_last, 1) :]
    assert {m.sequence for m in kept} <= milestones | set(newest)
    assert set(newest) <= {m.sequence for m in kept}


def test_three_are_kept_unless_told_otherwise() -> None:
    manifests = [manifest(number) for number in (5, 1, 4, 2, 3)]
    assert choose_expired(manifests, RetentionPolicy()) == {1, 2}


def test_a_copied_checkpoint_does_not_push_its_own_number_out() -> None:
    manifests = [manifest(4), manifest(5), manifest(5)]
    assert choose_expired(manifests, RetentionPolicy(keep_last=1)) == {4}
