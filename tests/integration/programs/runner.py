"""Runs a program undisturbed, and interrupted and resumed, and judges what came of it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pitstop.events import LevelKnown
from tests.integration.interpreters import HASH_SEED
from tests.integration.programs.changes import CHANGES, NEW, OLD
from tests.integration.programs.grammar import Program
from tests.integration.programs.verdict import Ended, Level, Verdict, judge
from tests.integration.programs.writer import SCRIPT, Attempt, first_attempt, last_attempt
from tests.integration.supervisor import launch

COMMAND = Path(__file__).with_name("pitstop_command.py")
OPTIONS = {"kill": "--die-at-step", "stop": "--halt-at-step"}
SETTLED = {Verdict.IDENTICAL, Verdict.HONEST}
LONGEST_SECONDS = 180.0

Words = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    Attributes:
        verdict: on it.
        folder: where its script, run and outputs are.
        truth: results of an undisturbed run.
        resumed: the last attempt.
        level: what the last attempt says of itself.
    """

    verdict: Verdict
    folder: Path
    truth: Ended
    resumed: Ended
    level: Level

    def __str__(self) -> str:
        finals = zip(self.truth.finals, self.resumed.finals, strict=False)
        different = [f"  {one} | {two}" for one, two in finals if one != two]
        ours = [line for line in self.resumed.output.splitlines() if line.startswith("pitstop: ")]
        said = f"{self.verdict.value}: code {self.resumed.code}, {self.level} in {self.folder}"
        return "\n".join([said, *different, *ours, *self._complaint()])

    def _complaint(self) -> list[str]:
        broken = self.verdict is Verdict.BROKEN
        return [f"  {line}" for line in self.resumed.output.splitlines()[-6:]] if broken else []


class Runner:
    """Runs programs; undisturbed ones that were run are not run again."""

    def __init__(self, folder: Path, python: Words, pitstop: Words) -> None:
        """Nothing was run yet.

        Args:
            folder: for everything that is written.
            python: what a script is run with.
            pitstop: what `pitstop` is called by.
        """
        self._folder = folder
        self._python = python
        self._pitstop = pitstop
        self.plain = cache(self._plain)

    def run(self, program: Program) -> Outcome:
        """One program, all of its attempts."""
        folder = Path(tempfile.mkdtemp(prefix="program-", dir=self._folder))
        (folder / "work").mkdir()
        first, last = first_attempt(program), last_attempt(program)
        attempts = [first for _ in program.interruptions]
        if program.changes_early:
            attempts[-1] = last
        interrupted = []
        for attempt, (how, step) in zip(attempts, program.interruptions, strict=True):
            _write(folder, attempt)
            options = f"--every={program.every_steps}steps", OPTIONS[how], step
            interrupted.append(self._supervised(folder, attempt, *options))
        _write(folder, last)
        resumed = self._supervised(folder, last)
        sources = {OLD: first, NEW: last}
        wanted = [sources[name] for name in CHANGES[program.change].truths]
        truths = [self.plain(_key(each)) for each in wanted]
        level = level_of(folder / "work")
        reproducible = resumed.finals == truths[-1].finals or self._repeats(wanted[-1], truths[-1])
        verdict = judge(truths, interrupted, resumed, level, reproducible=reproducible)
        (folder / "resumed.log").write_text(resumed.output)
        if verdict in SETTLED:
            shutil.rmtree(folder)
        return Outcome(verdict, folder, truths[-1], resumed, level)

    def _plain(self, key: tuple[tuple[tuple[str, str], ...], tuple[str, ...]]) -> Ended:
        files, words = key
        folder = self._folder / f"plain-{hashlib.sha256(repr(key).encode()).hexdigest()[:10]}"
        attempt = Attempt(dict(files), words)
        (folder / "work").mkdir(parents=True, exist_ok=True)
        _write(folder, attempt)
        ended = self._call(folder, *self._command(attempt))
        assert ended.code == 0, f"The program itself fails in {folder}:\n{ended.output}"
        return ended

    def _repeats(self, attempt: Attempt, truth: Ended) -> bool:
        again = Attempt({**attempt.files, "again": ""}, attempt.words)
        return self.plain(_key(again)).finals == truth.finals

    def _supervised(self, folder: Path, attempt: Attempt, *options: object) -> Ended:
        words = (*self._pitstop, "run", "--no-status-line", "--run-dir", "run", *options, "--")
        return self._call(folder, *words, *self._command(attempt))

    def _command(self, attempt: Attempt) -> tuple[str, ...]:
        return (*self._python, f"../{SCRIPT}", *attempt.words)

    def _call(self, folder: Path, *words: object) -> Ended:
        ended = subprocess.run(
            [str(word) for word in words],
            cwd=folder / "work",
            env=launch.environment(PYTHONHASHSEED=HASH_SEED),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(errors="replace"))


def level_of(folder: Path) -> Level:
    """What the run in a folder says of itself."""
    known = launch.events(folder, LevelKnown)
    if not known:
        return Level()
    last = known[-1]
    return Level(last.level, "; ".join(filter(None, [last.reason, *last.unverified])))


def _key(attempt: Attempt) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    return tuple(attempt.files.items()), attempt.words


def _write(folder: Path, attempt: Attempt) -> None:
    for name, text in attempt.files.items():
        (folder / name).write_text(text)
