"""A real training, watched: its curve grows, and its buttons stop it."""

from __future__ import annotations

import http.client
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pitstop.events import EpochEnded, StopRequested
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, KerasRun, seconds_to_end
from tests.integration.supervisor.launch import until
from tests.report.page.browser import COMMAND, Browser

_PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
_LONG = (OUT, "--epochs", "200")
"""A training that does not end by itself while it is watched."""


@contextmanager
def watching(folder: Path) -> Iterator[str]:
    """The link to the page of the run in a folder."""
    command = [*_PITSTOP, "watch", "run", "--http"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def press(link: str, action: str) -> tuple[int, str]:
    parts = urlsplit(link)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as connection:
        origin = {"Origin": f"http://{parts.netloc}"}
        connection.request("POST", f"/?{parts.query}&do={action}", headers=origin)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def curves(link: str) -> Iterator[str]:
    """The curves of a page, each time that they have changed."""
    parts = urlsplit(link)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as connection:
        connection.request("GET", f"/?{parts.query}&view=events")
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"data: "):
                told = json.loads(line[6:])
                if told["id"] == "curves":
                    yield told["html"]


def points_of_loss(html: str) -> int:
    data = json.loads(html.rpartition('type="application/json"')[2].partition(">")[2][:-19])
    return len(data["panels"][0]["series"][0]["points"]) // 2


@pytest.mark.timeout(240)
@pytest.mark.fast
def test_the_curve_grows_and_the_buttons_save_and_stop(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "train.py", _LONG, pace_seconds=0.3, interpreter=forked)
    process = run.start()
    run.until_training(3)
    with watching(tmp_path) as link:
        told = curves(link)
        first = points_of_loss(next(told))
        until(lambda: points_of_loss(next(told)) > first)
        status, text = press(link, "checkpoint")
        assert (status, text.startswith("Step ")) == (200, True)
        epochs = len(run.events(EpochEnded))
        assert press(link, "stop_after_epoch") == (200, "It will stop at the end of this epoch.")
        ended, _ = seconds_to_end(process)
        assert ended.returncode == 75, ended.stderr
        assert len(run.events(EpochEnded)) >= epochs + 1
        assert run.last(StopRequested).source == "command"
        assert press(link, "stop")[0] == 409


@pytest.mark.timeout(240)
@pytest.mark.skipif(COMMAND is None, reason="no chromium is installed")
def test_the_page_in_a_browser_is_live_and_its_stop_button_ends_with_75(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "train.py", _LONG, pace_seconds=0.3, interpreter=forked)
    process = run.start()
    run.until_training(3)
    loss = "(document.querySelector('.line.s0') || {getAttribute: () => ''}).getAttribute('d')"
    with watching(tmp_path) as link, closing(Browser(tmp_path / "profile")) as browser:
        browser.open(link, 1280)
        first = browser.value(loss)
        until(lambda: browser.value(loss) not in ("", first))
        assert browser.value("document.querySelector('.controls').hidden") is False
        browser.value("document.querySelector('[data-do=stop]').click()")
        ended, _ = seconds_to_end(process)
        assert ended.returncode == 75, ended.stderr
        until(lambda: "stop_requested" in browser.value("document.body.textContent"))
        assert browser.value("document.querySelector('.said').textContent") == "The run is stopped."
        assert browser.value("document.querySelector('.controls').hidden") is True
        complaints = ("Log.entryAdded", "Runtime.exceptionThrown")
        assert not [each for each in browser.told if each.get("method") in complaints]


@pytest.mark.timeout(240)
def test_keys_of_the_terminal_save_and_stop(tmp_path: Path, forked: Interpreter) -> None:
    run = KerasRun(tmp_path, "train.py", _LONG, pace_seconds=0.8, interpreter=forked)
    process = run.start()
    run.until_training(3)
    with terminal(tmp_path, columns=80, rows=24) as (fd, watched):
        until(lambda: "Loss" in seen(fd) or None)
        os.write(fd, b"c")
        until(lambda: "is saved." in seen(fd) or None)
        resize(fd, columns=40, rows=12)
        until(lambda: "attempt 1" in seen(fd) or None)
        os.write(fd, b"s")
        ended, _ = seconds_to_end(process)
        assert ended.returncode == 75, ended.stderr
        os.write(fd, b"q")
        until(lambda: (seen(fd), watched.poll() is not None)[1])
    assert watched.returncode == 0


@contextmanager
def terminal(
    folder: Path, *, columns: int, rows: int
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`pitstop watch` in a terminal of a size, and the other end of it."""
    ours, theirs = pty.openpty()
    resize(ours, columns=columns, rows=rows)
    words = [*_PITSTOP, "watch", "run"]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        words, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        try:
            yield ours, process
        finally:
            process.terminate()
    os.close(ours)


def resize(fd: int, *, columns: int, rows: int) -> None:
    termios.tcsetwinsize(fd, (rows, columns))


def seen(fd: int) -> str:
    """What has come to the terminal since it was looked at last."""
    found = b""
    end = time.monotonic() + 2.0
    while time.monotonic() < end and select.select([fd], [], [], 0.2)[0]:
        try:
            found += os.read(fd, 65536)
        except OSError:
            break
    return found.decode(errors="replace")
