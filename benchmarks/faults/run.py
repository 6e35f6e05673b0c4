"""Runs one scenario, under Pitstop or plainly, and leaves nothing of it behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil

from benchmarks.faults.ground import CannotInject, Ground
from benchmarks.faults.scenario import Scenario
from benchmarks.faults.strikes import Scene

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
LOG = "command.log"
_LOOK_SECONDS = 0.02
_SHELL_ADDS = 128
_SETTLE_SECONDS = 20.0

Mode = Literal["supervised", "plain"]


@dataclass(frozen=True)
class Run:
    """How one run of a scenario ended, and what Pitstop says of it.

    Attributes:
        scenario: its name.
        mode: under `pitstop run`, or plainly.
        exit_code: as a shell says it; None when it had to be ended by the bench.
        log: all that was printed.
        seconds: how long it took.
        report: `pitstop why --json`, or `pitstop diagnose --json` of the log.
        left_behind: command lines of processes that were still there.
    """

    scenario: str
    mode: Mode
    exit_code: int | None
    log: str
    seconds: float
    report: dict[str, Any] = field(default_factory=dict)
    left_behind: tuple[str, ...] = ()


def run(scenario: Scenario, mode: Mode, folder: Path) -> Run:
    """Runs a scenario in an empty folder.

    Raises:
        CannotInject: not on this machine.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(_end_all, folder)
        ground = Ground()
        for prepare in scenario.grounds:
            ground += stack.enter_context(prepare(folder))
        exit_code = _execute(scenario, mode, folder, ground)
        if mode == "supervised":
            _wait_for_all(folder)
        left = _end_all(folder)
        seconds = time.monotonic() - began
        log = (folder / LOG).read_text(errors="replace")
        report = _report(mode, exit_code, folder)
    return Run(scenario.name, mode, exit_code, log, seconds, report, left)


def _execute(scenario: Scenario, mode: Mode, folder: Path, ground: Ground) -> int | None:
    """Runs the command, strikes it when it is ready, and waits for its end."""
    process = _start(scenario, mode, folder, ground)
    give_up_at = time.monotonic() + scenario.patience_seconds
    has_struck = scenario.strike is None
    while process.poll() is None and time.monotonic() < give_up_at:
        if not has_struck and (folder / "ready").exists():
            has_struck = True
            _strike(scenario, folder, ground, process.pid)
        time.sleep(_LOOK_SECONDS)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
    code = process.returncode
    return code if code >= 0 else _SHELL_ADDS - code


def _start(scenario: Scenario, mode: Mode, folder: Path, ground: Ground) -> subprocess.Popen[bytes]:
    script = (sys.executable, "-u", str(SCRIPTS / scenario.script), *scenario.arguments)
    launcher = (*PITSTOP, "run", "--run-dir", "run", *scenario.options, "--")
    # What starts the bench may ignore some: `nohup`, a shell's background.
    defaults = ("env", "--default-signal=INT,HUP,QUIT,TERM")
    command = (
        *defaults,
        *ground.outer,
        *(launcher if mode == "supervised" else ()),
        *ground.inner,
        *script,
    )
    environment = {**_environment(), "TF_CPP_MIN_LOG_LEVEL": "0"}
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, **scenario.environment, **ground.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def _strike(scenario: Scenario, folder: Path, ground: Ground, command_pid: int) -> None:
    ready_pid = int((folder / "ready").read_text())
    assert scenario.strike is not None
    scene = Scene(folder, command_pid, ready_pid, folder / LOG, ground.cgroup)
    try:
        scenario.strike(scene)
    except (OSError, subprocess.CalledProcessError, psutil.Error) as error:
        raise CannotInject(f"the strike failed: {error}") from error
    scene.go()


def _report(mode: Mode, exit_code: int | None, folder: Path) -> dict[str, Any]:
    ended = [] if exit_code is None else ["--exit-code", str(exit_code)]
    diagnose = ("diagnose", LOG, *ended) if mode == "plain" else ("why", "run")
    answer = subprocess.run(
        [*PITSTOP, *diagnose, "--json"],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        return {"cause": "", "summary": answer.stderr.strip()}
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _wait_for_all(folder: Path) -> None:
    """Waits for what Pitstop has still to do where its supervisor was killed."""
    give_up_at = time.monotonic() + _SETTLE_SECONDS
    while _working_in(folder) and time.monotonic() < give_up_at:
        time.sleep(0.2)


def _end_all(folder: Path) -> tuple[str, ...]:
    """Kills what still works in the folder; says what it was."""
    left = []
    for process in _working_in(folder):
        try:
            left.append(" ".join(process.cmdline())[:120])
            process.kill()
            process.wait(5)
        except psutil.Error:
            continue
    return tuple(left)


def _working_in(folder: Path) -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _is_in(process, folder.resolve())]


def _is_in(process: psutil.Process, folder: Path) -> bool:
    try:
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and Path(process.cwd()).is_relative_to(folder)
    except (psutil.Error, OSError):
        return False
