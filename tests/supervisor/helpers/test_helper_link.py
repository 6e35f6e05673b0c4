"""How often a helper that dies is replaced."""

from pathlib import Path

import pytest

from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.helpers import helper_link
from pitstop.supervisor.helpers.helper_link import PersisterLink, PersisterPlan
from pitstop.supervisor.processes import process


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PersisterLink:
    monkeypatch.setattr(process, "spawn", lambda *_, **__: 0)
    log = tmp_path / "log"
    return PersisterLink(PersisterPlan(tmp_path, 1, -1, -1, RetentionPolicy(), log, frozenset()))


def _live_and_die(link: PersisterLink, times: int) -> None:
    for _ in range(times):
        assert link.may_restart
        link.start()
        link.lost()


def test_one_that_keeps_dying_is_given_up(link: PersisterLink) -> None:
    _live_and_die(link, 4)
    assert not link.may_restart


def test_one_that_did_its_work_is_replaced_however_often(
    link: PersisterLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four deaths in a month are no reason to train on without checkpoints."""
    monkeypatch.setattr(helper_link, "_LONG_LIFE_SECONDS", 0.0)
    _live_and_die(link, 12)
    assert link.may_restart
