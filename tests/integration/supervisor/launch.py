"""Starts `pitstop` as a user does, in a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

from pitstop.events import Event
from pitstop.journal import read
from pitstop.store.run_folder import open_existing

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src"
LEAN = HERE.parent / "lean"
TRAINER = HERE / "protocol_trainer.py"
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
LONGEST_SECONDS = 120.0

T = TypeVar("T")
E = TypeVar("E", bound=Event)


def environment(**extra: str) -> dict[str, str]:
    search = os.pathsep.join(map(str, (SOURCE, LEAN, SOURCE.parent)))
    return {**os.environ, "PYTHONPATH": search, **extra}


def start(
    folder: Path, *arguments: object, before: Iterable[str] = (), **extra: str
) -> subprocess.Popen[bytes]:
    """Starts `pitstop` with these arguments, `before` in front of it."""
    words = [*before, *PITSTOP, *(str(word) for word in arguments)]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment(**extra),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def call(folder: Path, *arguments: object, **extra: str) -> subprocess.CompletedProcess[bytes]:
    process = start(folder, *arguments, **extra)
    return finish(process)


def run_alone(folder: Path, *command: object) -> subprocess.CompletedProcess[bytes]:
    """Runs a program without Pitstop; what fails here fails by itself."""
    ended = run_alone_unchecked(folder, *command)
    ended.check_returncode()
    return ended


def run_alone_unchecked(folder: Path, *command: object) -> subprocess.CompletedProcess[bytes]:
    """The same of a program that may fail."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment(),
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def finish(process: subprocess.Popen[bytes]) -> subprocess.CompletedProcess[bytes]:
    out, err = process.communicate(timeout=LONGEST_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_script(folder: Path, text: str, *options: object) -> subprocess.Popen[bytes]:
    (folder / "script.py").write_text(text)
    return start(folder, "run", "--run-dir", "run", *options, "--", sys.executable, "script.py")


def run_trainer(folder: Path, *options: object, **extra: str) -> subprocess.Popen[bytes]:
    """Starts the trainer with options that are no part of the command, and may change."""
    own = shlex.join(str(option) for option in options)
    command = ["run", "--run-dir", "run", "--", sys.executable, TRAINER]
    return start(folder, *command, SAMPLE_OPTIONS=own, **extra)


def status(folder: Path, run: str = "run") -> dict[str, Any]:
    answer = call(folder, "status", run, "--json")
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def until(look: Callable[[], T | None]) -> T:
    """Looks until there is something to see; what it saw."""
    give_up_at = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < give_up_at:
        seen = look()
        if seen:
            return seen
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def until_line(process: subprocess.Popen[bytes], text: bytes) -> None:
    """Reads the output up to a line that holds `text`."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"no line with {text!r}")


def events(folder: Path, kind: type[E], run: str = "run") -> list[E]:
    entries = read(open_existing(folder / run).journal).entries
    return [entry.event for entry in entries if isinstance(entry.event, kind)]


def last(folder: Path, kind: type[E]) -> E:
    return events(folder, kind)[-1]


def processes_in(folder: Path) -> list[psutil.Process]:
    """Living processes that work in a folder."""
    return [process for process in psutil.process_iter() if _works_in(process, folder)]


def end_all_below(folder: Path) -> None:
    """Kills what still works in a folder or below it, and what that has started meanwhile."""

    def is_left(process: psutil.Process) -> bool:
        where = _folder_of(process)
        return where is not None and where.is_relative_to(folder.resolve())

    def killed() -> list[psutil.Process]:
        left = [each for each in psutil.process_iter() if each.pid != os.getpid() and is_left(each)]
        for each in left:
            with suppress(psutil.Error):
                each.kill()
        return left

    until(lambda: not killed())


def persister_among(processes: Iterable[psutil.Process]) -> psutil.Process:
    return next(each for each in processes if "pitstop.snapshot.persister" in each.cmdline())


def _works_in(process: psutil.Process, folder: Path) -> bool:
    return _folder_of(process) == folder.resolve()


def _folder_of(process: psutil.Process) -> Path | None:
    """Where a living process works."""
    try:
        return None if process.status() == psutil.STATUS_ZOMBIE else Path(process.cwd())
    except psutil.Error:
        return None
