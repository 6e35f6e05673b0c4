"""One script: undisturbed, and interrupted three times under `pitstop run` and resumed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pitstop.events import AttemptStarted
from tests.integration.programs.runner import level_of
from tests.integration.programs.verdict import Ended, Verdict, judge
from tests.integration.supervisor import launch

SEEDED = Path(__file__).with_name("seeded_script.py")
LONGEST_SECONDS = 250.0
WORK = "work"
SEARCH = os.pathsep.join(map(str, (launch.SOURCE, launch.SOURCE.parent)))
"""Without what the integration tests leave out: scripts may import it."""

Words = tuple[str, ...]
Interruption = Callable[[subprocess.Popen[bytes], Path], None]


@dataclass(frozen=True)
class Drilled:
    """What came of a script.

    Attributes:
        name: of the script.
        outcome: the verdict, or why there is none.
        said: the level of the resumed run and what is missing, or the first difference.
        interruptions: how many of them came before the script was over.
        seconds: that the undisturbed script took.
    """

    name: str
    outcome: str
    said: str = ""
    interruptions: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Bench:
    """Where and with what scripts are run.

    Attributes:
        base: each script gets folders of its own in it.
        data: its `home` has the data sets, its `downloads` what scripts get by URL.
        samples: in a data set.
        python: what a script is run with.
        pitstop: what `pitstop` is called by.
        packages: a folder of what else scripts import.
        step: where the script is killed first.
        variables: more of the environment.
    """

    base: Path
    data: Path
    samples: int
    python: Words
    pitstop: Words
    packages: Path | None
    step: int
    variables: Mapping[str, str]

    def drill(self, script: Path) -> Drilled:
        """One script: killed at a step, then stopped, then killed, each time run again."""
        name, command = script.stem, (*self.python, str(SEEDED), str(script))
        begun = time.monotonic()
        plain = self._call(name, "plain", *command)
        seconds = time.monotonic() - begun
        if plain.code != 0:
            return Drilled(name, "fails by itself", _complaint(plain))
        ended = self._attempts(name, command, seconds)
        *cut, back = ended
        level = level_of(self._folder(name, "interrupted"))
        if not cut and not level.level:
            return Drilled(name, "does not train", seconds=seconds)
        repeats = self._repeats(name, plain, back)
        verdict = judge([plain], cut, back, level, reproducible=repeats)
        said = f"{level.level} {level.missing}".strip()
        if verdict is not Verdict.IDENTICAL:
            said = f"code {back.code}; {said}; {_difference(plain, back)}"
        return Drilled(name, verdict.value, said, len(cut), round(seconds, 1))

    def _attempts(self, name: str, command: Words, seconds: float) -> list[Ended]:
        """All attempts; the last one ended by itself."""
        first = (f"--every={max(1, self.step // 4)}steps", f"--die-at-step={self.step}")
        ended = [self._call(name, "interrupted", *self._supervised(*first), *command)]
        stop = _signalled(seconds / 2, "supervisor_pid", signal.SIGTERM)
        kill = _signalled(seconds / 3, "trainer_pid", signal.SIGKILL)
        for interruption in (stop, kill, _left_alone):
            if ended[-1].code in {0, 1, 2}:
                break
            words = (*self._supervised(), *command)
            ended.append(self._call(name, "interrupted", *words, interruption=interruption))
        return ended

    def _repeats(self, name: str, plain: Ended, back: Ended) -> bool:
        if back.finals == plain.finals:
            return True
        command = (*self.python, str(SEEDED), str(self.base / f"{name}.py"))
        return self._call(name, "again", *command).finals == plain.finals

    def _supervised(self, *options: str) -> Words:
        return (*self.pitstop, "run", "--no-status-line", "--run-dir", "../run", *options, "--")

    def _folder(self, name: str, kind: str) -> Path:
        return self.base / name / kind

    def _call(
        self, name: str, kind: str, *words: str, interruption: Interruption | None = None
    ) -> Ended:
        folder = self._folder(name, kind)
        if not folder.exists():
            shutil.copytree(self.data / "here", folder / WORK)
        with (folder / "output.log").open("ab") as log:
            begin = log.tell()
            process = subprocess.Popen(
                words,
                cwd=folder / WORK,
                env={**os.environ, **self._environment(folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            (interruption or _left_alone)(process, folder)
        output = (folder / "output.log").read_bytes()[begin:].decode(errors="replace")
        return Ended(process.returncode, output)

    def _environment(self, folder: Path) -> dict[str, str]:
        home = folder / "home"
        if not home.exists():
            shutil.copytree(self.data / "home", home)
        return {
            **self.variables,
            "PYTHONPATH": SEARCH,
            "HOME": os.fspath(home),
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": os.fspath(self.data / "matplotlib"),
            "PYTHONHASHSEED": "0",
            "FOREIGN_PACKAGES": os.fspath(self.packages or ""),
            "FOREIGN_DOWNLOADS": os.fspath(self.data / "downloads"),
            "FOREIGN_SAMPLES": str(self.samples),
        }


def _left_alone(process: subprocess.Popen[bytes], _folder: Path) -> None:
    _wait(process, LONGEST_SECONDS)


def _signalled(seconds: float, name: str, number: signal.Signals) -> Interruption:
    """A signal to `pitstop run` or to the script, after so long.

    Args:
        seconds: from the start of the attempt.
        name: of the process' number in the event of its start.
        number: of the signal.
    """

    def interrupt(process: subprocess.Popen[bytes], folder: Path) -> None:
        if _outlasts(process, seconds):
            with contextlib.suppress(ProcessLookupError):  # it may just have ended by itself
                os.kill(getattr(launch.last(folder, AttemptStarted), name), number)
            _left_alone(process, folder)

    return interrupt


def _outlasts(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    if _outlasts(process, seconds):
        process.kill()
        process.wait()


def _complaint(ended: Ended) -> str:
    lines = [
        line for line in ended.output.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)
    ]
    return lines[-1] if lines else f"code {ended.code}"


def _difference(expected: Ended, actual: Ended) -> str:
    lost = [line for line in expected.finals if line not in actual.finals]
    return f"{len(lost)} of {len(expected.finals)} results differ: {', '.join(lost[:3])}"
