"""`pitstop find-nan` on a real run: it finds the gradient, and changes nothing of the run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun


def test_the_gradient_before_the_bad_loss_is_found_and_why_knows_it(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(
        tmp_path,
        "bad_numbers.py",
        ("lines.txt",),
        options=("--every", "3steps"),
        interpreter=forked,
    )
    assert run.attempt().returncode == 0
    before, lines = run.why(), (tmp_path / "lines.txt").read_text()
    assert before["cause"] == "nan_loss"
    assert any("pitstop find-nan" in line for line in before["advice"])
    files = _content(tmp_path / "run")
    before_step_8 = max(step for step in _checkpoints(run) if step < 8)

    answer = run.pitstop("find-nan", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert (found["where"], found["step"], found["from_step"]) == ("gradient", 8, before_step_8)
    assert found["name"].endswith("first/kernel")

    assert (tmp_path / "lines.txt").read_text() == lines
    after = _content(tmp_path / "run")
    assert {name for name in after if after[name] != files.get(name)} == {"attempts/1/found.jsonl"}
    told = run.why()
    assert "a gradient is bad" in told["summary"]
    assert told["chain"][0]["source"] == "find-nan"


def _checkpoints(run: KerasRun) -> list[int]:
    """The steps that the run holds: a busy disk may have left out one that was due."""
    return [entry["step"] for entry in json.loads(run.pitstop("checkpoints", "--json").stdout)]


def _content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if path.name != "lock" and not path.name.startswith("report.")
    }
