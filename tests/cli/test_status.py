"""`pitstop status` of a launch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.cli.main import main
from pitstop.store.gang_folder import Shape, create
from pitstop.store.run_folder import RUN_FILE


def test_a_damaged_member_hides_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _ = create(tmp_path, Shape(worker=2), ["true"]).members
    first.mkdir(parents=True)
    (first / RUN_FILE).write_text("{")
    with pytest.raises(SystemExit) as left:
        main(["status", str(tmp_path), "--json"])
    assert not left.value.code
    rows = json.loads(capsys.readouterr().out)["members"]
    assert [row["state"] for row in rows] == ["unreadable", "not started"]
