"""Which states a member may offer to the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pitstop.cluster.resume_agreement import held_states
from pitstop.events import GangFormed
from pitstop.store.catalog import Catalog, CheckpointEntry
from tests.store.samples import save

OURS = GangFormed("a-2", "worker 1", 2)


def saved(tmp_path: Path, *attempts: int) -> tuple[CheckpointEntry, ...]:
    """Checkpoints of these attempts, newest first."""
    for number in range(1, len(attempts) + 1):
        save(tmp_path, step=10 * number, sequence=number)
    entries = Catalog(tmp_path).entries()
    found = []
    for entry, attempt in zip(entries, reversed(attempts), strict=True):
        assert entry.manifest is not None
        info = replace(entry.manifest.info, attempt=attempt)
        found.append(replace(entry, manifest=replace(entry.manifest, info=info)))
    return tuple(found)


def test_states_are_known_by_their_gang_and_step(tmp_path: Path) -> None:
    formed = {1: OURS, 2: replace(OURS, gang="b-2")}
    states = held_states(saved(tmp_path, 1, 1, 2), formed, "worker 1")
    assert [mark.split(":")[::2] for mark in states.names] == [
        ["b-2", "30"],
        ["a-2", "20"],
        ["a-2", "10"],
    ]
    assert (states.gangs, states.strays) == (("a-2", "b-2"), False)


def test_one_that_no_gang_agreed_on_is_a_stray(tmp_path: Path) -> None:
    states = held_states(saved(tmp_path, 1, 2), {2: OURS}, "worker 1")
    assert (len(states.names), states.strays) == (1, True)


def test_one_that_another_task_saved_is_a_stray(tmp_path: Path) -> None:
    states = held_states(saved(tmp_path, 1), {1: OURS}, "worker 0")
    assert (dict(states.names), states.gangs, states.strays) == ({}, (), True)
