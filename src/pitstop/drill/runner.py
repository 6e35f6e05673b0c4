"""Carries a drill out: real runs in processes of their own, in one folder."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from pitstop import journal
from pitstop.comparison import compare_runs
from pitstop.comparison.record import RunRecord, load_run
from pitstop.drill import outcome
from pitstop.drill.outcome import Drill, Interruption, Trial, aftermath
from pitstop.errors import RunFolderInvalid, RunFolderUnwritable, UserError
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_SIGNALLED, EXIT_STOPPED
from pitstop.link.settings import ENV_ENTROPY
from pitstop.record import Frozen
from pitstop.store.disk_fault import explained
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.processes.process import pitstop_run

RESULT_FILE = "drill.json"
UNINTERRUPTED = "uninterrupted"
REPETITION = "uninterrupted-again"
ENV_DRILL = "PITSTOP_DRILL"
"""Set to 1 for the scripts of a drill, so that they can leave out side effects."""


class DrillFolder(Frozen):
    path: Path

    def run_dir(self, name: str) -> Path:
        return self.path / name

    def log(self, name: str) -> Path:
        return self.path / f"{name}.log"

    def save(self, result: str) -> None:
        """Writes what was found; `RunFolderUnwritable` where the disk refuses."""
        with _writing(self.path):
            (self.path / RESULT_FILE).write_text(result, encoding="utf-8")


def make_folder(path: Path) -> DrillFolder:
    """An empty folder for a drill; raises `RunFolderUnwritable` or `RunFolderInvalid`."""
    with _writing(path):
        if path.exists() and not path.is_dir():
            raise RunFolderInvalid(f"{path} is a file.", "Give a folder with --run-dir.")
        if path.exists() and any(path.iterdir()):
            if not (path / RESULT_FILE).is_file():
                raise RunFolderInvalid(
                    f"{path} contains other files but no {RESULT_FILE}.",
                    "Give an empty or new folder with --run-dir.",
                )
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        # From now on it is known as a drill's, also when this one is cut short.
        (path / RESULT_FILE).write_text("{}\n", encoding="utf-8")
    return DrillFolder(path)


def _writing(path: Path) -> AbstractContextManager[None]:
    return explained(f"The drill's folder {path} cannot be written", RunFolderUnwritable)


_EXIT_KILLED = EXIT_SIGNALLED + signal.SIGKILL


class DrillRequest(Frozen):
    """One call of `pitstop drill`; `steps` 0: every run trains to its end."""

    command: tuple[str, ...]
    kills: int
    stops: int
    steps: int
    seed: int


class _Runner:
    def __init__(self, request: DrillRequest, folder: DrillFolder) -> None:
        self._request = request
        self._folder = folder
        entropy = os.environ.get(ENV_ENTROPY) or uuid.uuid4().hex
        self._environment = {**os.environ, ENV_DRILL: "1", ENV_ENTROPY: entropy}

    def uninterrupted(self, name: str) -> tuple[RunRecord, float]:
        """A run to the end; a `UserError` where the script fails by itself, or does not train."""
        exit_code, seconds = self._run(name)
        run_dir = self._folder.run_dir(name)
        if exit_code not in (EXIT_COMPLETED, EXIT_STOPPED):
            raise UserError(
                f"The script failed without an interruption, with exit code {exit_code}.",
                f"`pitstop why {run_dir}` explains why; its output is in {self._folder.log(name)}.",
            )
        return load_run(run_dir), seconds

    def trial(self, interruption: Interruption, expected: RunRecord) -> Trial:
        name = interruption.name
        every_steps = outcome.checkpoint_interval_steps(expected.trace.last_step)
        ran = [self._run(name, every_steps, interruption)]
        exit_code, _ = ran[0]
        if exit_code == (_EXIT_KILLED if interruption.kind == "kill" else EXIT_STOPPED):
            ran.append(self._run(name, every_steps))
        return _judge(interruption, self._folder.run_dir(name), expected, ran)

    def _run(
        self, name: str, every_steps: int = 0, interruption: Interruption | None = None
    ) -> tuple[int, float]:
        kill = interruption is not None and interruption.kind == "kill"
        stop = interruption is not None and not kill
        options = run_options(
            every_steps,
            halt_at_step=interruption.step if interruption and stop else self._request.steps,
            die_at_step=interruption.step if interruption and kill else 0,
        )
        words = pitstop_run(self._folder.run_dir(name).absolute(), options, self._request.command)
        started = time.monotonic()
        exit_code = _call(words, self._environment, self._folder.log(name))
        return exit_code, time.monotonic() - started


def run_drill(request: DrillRequest, folder: DrillFolder, say: Callable[[str], None]) -> Drill:
    """Runs the script whole, then interrupted; raises `CheckpointCorrupt` or a `UserError`."""
    runner = _Runner(request, folder)
    say("running it without interruption.")
    expected, seconds = runner.uninterrupted(UNINTERRUPTED)
    last_step, epoch_ends = expected.trace.last_step, expected.trace.epoch_ends()
    chosen = outcome.choose(last_step, epoch_ends, request.kills, request.stops, request.seed)
    trials = []
    for number, each in enumerate(chosen, 1):
        say(f"{number} of {len(chosen)}: {each.kind} after step {each.step} ({each.place}).")
        trials.append(runner.trial(each, expected))
    drill = Drill(expected.name, last_step, seconds, tuple(trials))
    if all(trial.identical for trial in trials):
        return drill
    say("the runs differ; running the script again without interruption.")
    repetition, _ = runner.uninterrupted(REPETITION)
    return replace(drill, repetition=compare_runs(expected, repetition))


def run_options(every_steps: int, halt_at_step: int, die_at_step: int) -> list[str]:
    """Of `pitstop run`; 0 leaves an option out."""
    options = {
        "--every": f"{every_steps}steps" if every_steps else "",
        "--halt-at-step": str(halt_at_step or ""),
        "--die-at-step": str(die_at_step or ""),
    }
    return [word for name, value in options.items() if value for word in (name, value)]


def _judge(
    interruption: Interruption, run_dir: Path, expected: RunRecord, ran: list[tuple[int, float]]
) -> Trial:
    exit_codes, times = zip(*ran, strict=True)
    seconds = sum(times)
    events = [each.event for each in journal.read(open_existing(run_dir).journal).entries]
    told = aftermath(events)
    failure = _failure(interruption, exit_codes)
    if failure:
        return Trial(interruption, str(run_dir), 0, 0, "", seconds, None, failure, told)
    actual = load_run(run_dir)
    resume = actual.resumes[-1] if actual.resumes else None
    ends = expected.trace.last_step, actual.trace.last_step
    return Trial(
        interruption,
        str(run_dir),
        resumed_at_step=resume.step if resume else 0,
        lost_steps=resume.lost_steps if resume else actual.trace.recomputed_steps,
        level=resume.level if resume else "",
        seconds=seconds,
        comparison=compare_runs(expected, actual),
        failure="" if ends[0] == ends[1] else f"it ended after step {ends[1]} instead of {ends[0]}",
        aftermath=told,
    )


def _failure(interruption: Interruption, exit_codes: Sequence[int]) -> str:
    if len(exit_codes) == 1:
        return f"the run ended with exit code {exit_codes[0]} before step {interruption.step}"
    if exit_codes[-1] not in (EXIT_COMPLETED, EXIT_STOPPED):
        return f"the resumed attempt failed with exit code {exit_codes[-1]}"
    return ""


def _call(words: list[str], environment: Mapping[str, str], log: Path) -> int:
    with (
        log.open("ab") as output,
        subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
