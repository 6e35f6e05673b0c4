"""Commands on runs that nobody supervises."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pitstop.cli.main import main
from pitstop.events import AttemptEnded, AttemptStarted, EpochEnded, TrainerExited
from pitstop.journal import Journal
from pitstop.store.lock import RunLock, own_record
from pitstop.store.run_folder import open_existing, open_or_create


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(name: str, state: str = "stopped") -> None:
    folder = open_or_create(Path("runs") / name, ["python", "train.py"], Path.cwd())
    attempt = folder.next_attempt()
    with Journal(folder.journal, attempt) as journal:
        journal.append(AttemptStarted(attempt, ["python"], 1, 2, "host"))
        journal.append(TrainerExited(75, "", 12, 1, 2, "saving", 0.1))
        journal.append(AttemptEnded(attempt, state, 75, 12, None))


def _call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    captured = capsys.readouterr()
    return int(exit_.value.code or 0), captured.out + captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, text = _call(capsys, *arguments)
    assert code == 0
    return json.loads(text)


def test_status_finds_the_only_run(capsys: pytest.CaptureFixture[str]) -> None:
    _run("only")
    found = _json(capsys, "status", "--json")
    assert (found["state"], found["step"], found["run_dir"]) == ("stopped", 12, "runs/only")
    _, text = _call(capsys, "status")
    assert "12, epoch 2, step 2 of the epoch" in text


def test_status_with_several_runs_lists_them_or_asks(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    _run("b", "completed")
    _, text = _call(capsys, "status")
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [
        ["runs/a", "stopped"],
        ["runs/b", "completed"],
    ]
    code, text = _call(capsys, "status", "--json")
    assert code == 2
    assert "runs/a, runs/b" in text


def test_ls_keeps_a_damaged_run_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    _run("b")
    Path("runs/b/run.json").write_text("{")
    found = _json(capsys, "ls", "--json")
    assert [each["state"] for each in found] == ["stopped", "unreadable"]


def test_ls_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert _call(capsys, "ls") == (0, "There is no run under runs/.\n")


def test_stop_of_a_run_that_is_not_running_is_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _run("a")
    code, text = _call(capsys, "stop", "runs/a")
    assert (code, text) == (0, "runs/a is not running (stopped); nothing was saved.\n")


def test_stop_of_a_run_that_ends_by_itself_meanwhile_is_no_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _run("a")
    folder = open_existing(Path("runs/a"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        lock = RunLock.acquire(folder.lock, own_record(str(tmp_path / "socket")))

        def end() -> None:
            client, _ = listener.accept()
            lock.close()
            client.close()

        supervisor = threading.Thread(target=end)
        supervisor.start()
        code, text = _call(capsys, "stop", "runs/a")
        supervisor.join()
    assert (code, text) == (0, "runs/a is stopped; nothing was saved.\n")


def test_a_supervisor_that_never_answers_is_not_waited_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = open_or_create(Path("runs/a"), ["python", "train.py"], Path.cwd())
    with Journal(folder.journal, 1) as journal:
        journal.append(AttemptStarted(1, ["python"], 1, 2, "host"))
    address = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(0)  # The first client comes in, and fills the queue for the others.
        lock = RunLock.acquire(folder.lock, own_record(address))
        for found in (_json(capsys, "status", "--json"), *_json(capsys, "ls", "--json")):
            assert (found["state"], found["phase"]) == ("running", "no_answer")
        assert _json(capsys, "why", "--json")["state"] == "running"
        for command in ("stop", "checkpoint"):
            code, text = _call(capsys, command, "runs/a")
            assert (code, f"kill -TERM {os.getpid()}" in text) == (1, True)
        lock.close()
    assert _json(capsys, "status", "--json")["state"] == "failed"


def test_checkpoint_needs_a_live_run(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    code, text = _call(capsys, "checkpoint", "runs/a")
    assert code == 2
    assert "not running" in text


def test_why_writes_each_form(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    found = _json(capsys, "why", "runs/a", "--json")
    assert {"cause", "confidence", "summary", "evidence", "missing", "advice"} <= found.keys()
    code, text = _call(capsys, "why", "runs/a", "--md", "why.md")
    assert (code, text) == (0, "")
    assert found["summary"] in Path("why.md").read_text()
    code, text = _call(capsys, "why", "runs/a", "--html", "why.html")
    assert (code, text) == (0, "")
    assert "<!doctype html>" in Path("why.html").read_text()


def test_why_tells_of_an_earlier_attempt_and_of_none_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _run("a")
    assert _json(capsys, "why", "runs/a", "--attempt", "1", "--json")["attempt"] == 1
    code, text = _call(capsys, "why", "runs/a", "--attempt", "7")
    assert code == 2
    assert "no attempt 7" in text


def test_why_names_the_page_that_the_run_has_left(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    assert "With plots" not in _call(capsys, "why", "runs/a")[1]
    page = Path("runs/a/attempts/1/report.html")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("")
    assert _call(capsys, "why", "runs/a")[1].endswith(f"\nWith plots: {page}\n")


def test_why_is_said_where_not_every_letter_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    _run("a")
    said = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(said, encoding="ascii"))
    with pytest.raises(SystemExit):
        main(["why", "runs/a"])
    sys.stdout.flush()
    assert b"\n? Run the same command again" in said.getvalue()


def test_why_says_where_it_cannot_write(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    code, text = _call(capsys, "why", "runs/a", "--html", "not/there/why.html")
    assert code == 1
    assert "not/there/why.html cannot be written" in text


def test_checkpoints_of_a_run_without_any(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    for action in ("list", "verify", "prune"):
        assert _json(capsys, "checkpoints", "runs/a", action, "--json") == []


def test_what_a_checkpoint_shares_with_an_earlier_one_is_not_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run("shared")
    golden = Path(__file__).parents[1] / "goldens" / "format-2" / "checkpoints"
    shutil.copytree(golden, here / "runs" / "shared" / "checkpoints", dirs_exist_ok=True)
    [row] = _json(capsys, "checkpoints", "runs/shared", "--json")
    assert (row["size_bytes"], row["own_bytes"]) == (263752 + 218 + 26, 218 + 26)
    _, text = _call(capsys, "checkpoints", "runs/shared")
    assert "0.3 MB, 0.0 its own" in text


def test_errors_of_a_program_that_asked_for_json_are_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (("status", "absent", "--json"), ("ls", "--json", "--what")):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        found = json.loads(capsys.readouterr().out)
        assert found["error"]
        assert found["exit_code"] == exit_.value.code == 2


def test_status_and_ls_tell_of_loss_and_the_best_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    _run("a")
    with Journal(open_existing(Path("runs/a")).journal, 1) as journal:
        for epoch, loss in enumerate((0.5, 0.25, 0.75)):
            journal.append(EpochEnded(0, epoch, 1, 1, {"loss": loss, "val_loss": 2 * loss}))
    found = _json(capsys, "status", "--json")
    assert (found["loss"], found["best_metric"], found["best_value"]) == (0.75, "val_loss", 0.5)
    # Counted as the text counts.
    assert (found["epoch"], found["best_epoch"]) == (2, 2)
    assert "val_loss 0.5 in epoch 2" in _call(capsys, "status")[1]
    assert "val_loss 0.5" in _call(capsys, "ls")[1]
    # Without a terminal it is shown once.
    code, text = _call(capsys, "ls", "--watch")
    assert (code, "0.75" in text) == (0, True)


def test_ls_watches_no_url(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = _call(capsys, "ls", "file:///mirror", "--watch")
    assert (code, "--watch" in text) == (2, True)
