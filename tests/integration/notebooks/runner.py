"""Runs what happens to a notebook in real kernels, and compares with undisturbed ones."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.integration.kernel import PLAN, Kernel
from tests.integration.notebooks.scenario import Run, Session, scenario

LOAD = "%load_ext pitstop"
_SEEDS = "set_random_seed"


@dataclass(frozen=True)
class Ran:
    """What a kernel has printed.

    Attributes:
        ends: of the trainings that came to their end, in order.
        died: the kernel did.
        failed: what a cell failed with, that no stop explains.
        session: the one that ran: without stops that came too late.
    """

    session: Session
    ends: tuple[str, ...]
    text: str
    died: bool
    failed: str
    took_seconds: float


@dataclass(frozen=True)
class Result:
    """What came of a scenario."""

    deaths: int
    resumed: int
    not_exact: int
    failures: tuple[str, ...]


class Runner:
    """Runs scenarios in folders of their own."""

    def __init__(self, folder: Path, words: Sequence[str] = ()) -> None:
        """`words`: as for `Kernel`."""
        self._folder = folder
        self._words = words
        self._count = 0

    def run(self, number: int) -> Result:
        """All kernels of a scenario, in one folder."""
        here = self._new_folder(f"scenario-{number}")
        references: dict[Session, Ran] = {}
        failures: list[str] = []
        deaths = resumed = not_exact = 0
        for at, session in enumerate(scenario(number)):
            if not references:
                self._reference(session, references, failures)
            likely_seconds = next(iter(references.values())).took_seconds
            ran = self._run(here, session, likely_seconds)
            deaths += ran.died
            resumed += "resuming at step" in ran.text
            not_exact += "not exact" in ran.text
            expected = self._reference(ran.session, references, failures).ends
            same = ran.ends == (expected[: len(ran.ends)] if ran.died else expected)
            if not same or ran.failed:
                failures.append(
                    f"kernel {at} ({session.edit}, {session.dies_in}, {session.dies_after}):"
                    f" {ran.failed}\n{_listed(ran)}\nexpected {expected}\n{ran.text}"
                )
        return Result(deaths, resumed, not_exact, tuple(failures))

    def _new_folder(self, name: str) -> Path:
        self._count += 1
        folder = self._folder / f"{self._count}-{name}"
        folder.mkdir(parents=True)
        return folder

    def _reference(self, session: Session, known: dict[Session, Ran], failures: list[str]) -> Ran:
        """The undisturbed session, in a new folder; where all is seeded, it is Keras' own, too."""
        wanted = session.undisturbed
        if wanted not in known:
            known[wanted] = ran = self._run(self._new_folder("reference"), wanted)
            if ran.failed:
                failures.append(f"reference: {ran.failed}\n{_listed(ran)}")
            seeded = any(_SEEDS in run.cell.text for run in wanted.runs)
            if len(known) == 1 and seeded and not any(run.stop_at for run in wanted.runs):
                plain = self._run(self._new_folder("plain"), wanted, load="")
                if plain.ends != ran.ends:
                    failures.append(f"without Pitstop: {plain.ends}\n{_listed(ran)}")
        return known[wanted]

    def _run(
        self, folder: Path, session: Session, likely_seconds: float = 0.0, load: str = LOAD
    ) -> Ran:
        (folder / PLAN).unlink(missing_ok=True)
        texts: list[str] = []
        ends: list[str] = []
        done: list[Run] = []
        status = failed = ""
        began_at = time.monotonic()
        with Kernel(folder, self._words) as kernel:
            timer = threading.Timer(session.dies_after * likely_seconds, kernel.kill)
            if session.dies_after:
                timer.start()
            kernel.run(load)
            left = list(session.runs)
            while left and status != "dead":
                run = left.pop(0)
                (folder / PLAN).unlink(missing_ok=True)
                if run.stop_at:
                    kernel.plan("SIGINT", run.stop_at, run.cell.training)
                elif session.dies_in[0] == run.cell.training != "":
                    kernel.plan("SIGKILL", session.dies_in[1], run.cell.training)
                ran = kernel.run(run.cell.text)
                status = ran.status
                texts.append(ran.text)
                # A cell that is interrupted in a later training runs the ones before again.
                if status != "error" or not run.stop_at:
                    ends += re.findall(r"^END .*$", ran.text, re.MULTILINE)
                if run.stop_at and status == "ok":
                    # It had come further before: what was to follow the stop has no sense.
                    run = Run(run.cell)
                    while left and left.pop(0).cell != run.cell:
                        pass
                elif status == "error" and not run.stop_at:
                    failed = ran.text
                done.append(run)
            timer.cancel()
        text = "\n".join(texts)
        return Ran(
            Session((*done, *left)),
            tuple(ends),
            text,
            status == "dead",
            failed,
            time.monotonic() - began_at,
        )


def _listed(ran: Ran) -> str:
    cells = "\n".join(
        f"--- {f'stopped at {run.stop_at}' if run.stop_at else ''}\n{run.cell.text}"
        for run in ran.session.runs
    )
    return f"{cells}\n=== {ran.ends}"
