"""`pitstop stop` of a run that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop import journal
from pitstop.cli.main import main
from pitstop.events import AttemptEnded, Event, MemberReleased, RoleTaken
from pitstop.store.run_folder import open_or_create

RELEASED = MemberReleased("chief 0", "stopped", 75, "it was stopped")
SERVES = RoleTaken("server", 7, "worker 1")


@pytest.mark.parametrize(
    ("told", "saved"),
    [
        ((SERVES, RELEASED), "chief 0 saves the training"),
        ((RELEASED,), "nothing was saved"),
        ((SERVES, MemberReleased("chief 0", "failed", 1, "it failed")), "nothing was saved"),
    ],
)
def test_a_member_that_saves_nothing_names_who_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: tuple[Event, ...], saved: str
) -> None:
    run = open_or_create(tmp_path / "run", ["train"], tmp_path)
    entries = [*told, AttemptEnded(1, "stopped", 75, 0, None)]
    run.journal.write_bytes(b"".join(journal.encode(journal.Entry(0.0, 1, e)) for e in entries))
    with pytest.raises(SystemExit) as left:
        main(["stop", str(run.path)])
    assert not left.value.code
    assert f"(stopped); {saved}." in capsys.readouterr().out
