"""Each way to interrupt a launched cluster, at each of its roles and moments: one table."""

from __future__ import annotations

import functools
import itertools
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pitstop.events import AttemptStarted
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import OUTPUT_FILE, open_existing
from pitstop.supervisor.control.live_run import status_of
from tests.integration.keras_run import REAL, Started
from tests.integration.supervisor import launch
from tests.integration.test_gangs import digests_of

SCRIPTS = Path(__file__).parent / "scripts"
LONGEST_END_SECONDS = 30.0
"""From the interruption to the last process gone, where nothing begins again."""
PAUSE_SECONDS = 3.0
_OUTCOME = re.compile(r"^(?:DIGEST|ends) .*$", re.MULTILINE)

WORKERS = ("--workers", "2")
SERVERS = ("--workers", "2", "--ps", "2")
SERVED = 2 * 60
"""The steps of those that train on parameter servers."""


@dataclass(frozen=True)
class Training:
    """A script, its arguments but for the pace, and a step in the middle of it.

    `outcome`: what it says at its end, where it trains on parameter servers.
    """

    script: str
    arguments: tuple[str, ...]
    middle: int
    outcome: str = ""

    @property
    def path(self) -> str:
        return str(SCRIPTS / self.script)

    @property
    def shape(self) -> tuple[str, ...]:
        return SERVERS if self.outcome else WORKERS


def ends(count: int, *more: object) -> str:
    return " ".join(map(str, ("ends", *more))).replace("N", str(count))


TRAININGS = {
    "loop": Training("gang_member.py", ("240",), 50),
    "fit": Training("fit_strategy.py", ("workers", "arrays", "3"), 15),
    "loop on servers": Training(
        "parameter_servers.py",
        ("2", "60"),
        50,
        ends(SERVED + 1, "[[N, N], [N, N]]", "[[N, N, N, N]]", 2),
    ),
    "fit on servers": Training(
        "fit_on_servers.py",
        ("2", "60"),
        50,
        ends(SERVED, "[[N, N], [N, N], N, N] [0, 1]", [2] * 4),
    ),
}
ACTS = {
    "stop": "`pitstop stop` of the member",
    "term": "SIGTERM to its supervisor",
    "kill": "SIGKILL to its trainer",
    "freeze": "SIGSTOP to its trainer, for a while where TensorFlow waits for it",
    "lose": "SIGKILL to all of its processes, as when its machine is gone",
}
MOMENTS = ("start", "first", "middle")


@dataclass(frozen=True)
class Cell:
    """What happens to which member of which training, and when."""

    training: str
    act: str
    member: str
    moment: str

    def __str__(self) -> str:
        return f"{self.training}/{self.act}/{self.member}/{self.moment}".replace(" ", "-")

    @property
    def is_gang(self) -> bool:
        return TRAININGS[self.training].shape == WORKERS

    @property
    def leader(self) -> str:
        return "worker-0" if self.is_gang else "chief-0"

    @property
    def codes(self) -> tuple[int, ...]:
        """What the first launch may return; with `--restarts`, a loss is made good."""
        if self.act == "lose":
            return (EXIT_STOPPED, 128 + signal.SIGKILL)
        return (EXIT_STOPPED,) if self.act in ("stop", "term") else (0,)

    def is_right(self, outcome: str, expected: str) -> bool:
        """Whether that is the outcome of an undisturbed training.

        The step of a worker that dies is repeated, and may have been counted in part.
        """
        count = re.search(r"\d+", expected)
        if self.member.startswith("worker") and not self.is_gang and self.act == "kill" and count:
            outcome = re.sub(rf"\b{int(count[0]) + 1}\b", count[0], outcome)
        return outcome == expected


def cells() -> Iterator[Cell]:
    """All but those in which nothing that is tested here can come about."""
    for training, act, moment in itertools.product(("loop", "fit"), ACTS, MOMENTS):
        if (act, moment) != ("freeze", "start"):
            yield from (Cell(training, act, member, moment) for member in ("worker-0", "worker-1"))
    for training, act in itertools.product(("loop on servers", "fit on servers"), ACTS):
        members = ("chief-0",) if act == "lose" else ("chief-0", "worker-1", "ps-1")
        for member, moment in itertools.product(members, MOMENTS[1:]):
            yield Cell(training, act, member, moment)


@dataclass(frozen=True)
class CellRun:
    """The launched cluster of a cell, in a folder."""

    cell: Cell
    folder: Path
    network: tuple[str, ...]

    @property
    def members(self) -> Path:
        return self.folder / "run" / "members"

    def start(self) -> Started:
        training = TRAININGS[self.cell.training]
        pace = ("0.05",) if self.cell.is_gang else ()
        words = ("launch", *training.shape, "--run-dir", "run", "--restarts", "3", "--", *REAL)
        command = (training.path, *training.arguments, *pace)
        return launch.start(self.folder, *words, *command, before=self.network, SAMPLE_PACE="0.05")

    def until(self, moment: str) -> None:
        last = {"start": 0, "first": 1, "middle": TRAININGS[self.cell.training].middle}[moment]
        for member in (self.cell.leader, self.cell.member):
            launch.until((self.members / member / "run.json").exists)
            launch.until(functools.partial(launch.events, self.members, AttemptStarted, member))
        leader = open_existing(self.members / self.cell.leader)
        launch.until(lambda: (status_of(leader).step or 0) >= last)

    def act(self) -> None:
        now = status_of(open_existing(self.members / self.cell.member))
        supervisor, trainer = psutil.Process(now.supervisor_pid), psutil.Process(now.pid)
        match self.cell.act:
            case "stop":
                assert launch.call(self.members, "stop", self.cell.member).returncode == 0
            case "term":
                supervisor.terminate()
            case "kill":
                trainer.kill()
            case "freeze":
                trainer.suspend()
                if not self.cell.is_gang:
                    time.sleep(PAUSE_SECONDS)
                    trainer.resume()
            case "lose":
                for each in (supervisor, *supervisor.children(recursive=True)):
                    each.kill()

    def outcomes(self) -> list[str]:
        """What each member that trains has said at the end of its last attempt, in their order."""
        found: dict[str, str] = {}
        logs = self.members.glob(f"*/attempts/*/{OUTPUT_FILE}")
        for log in sorted(logs, key=lambda each: int(each.parent.name)):
            if said := _OUTCOME.findall(log.read_text(errors="replace")):
                found[log.parts[-4]] = said[-1]
        return [outcome for _, outcome in sorted(found.items())]


Undisturbed = Callable[[Training], list[str]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What the members of a training say that nobody interrupts, without Pitstop."""

    @functools.cache
    def outcomes(training: Training) -> list[str]:
        if training.outcome:
            return [training.outcome]
        words = (training.path, *training.arguments, "0")
        digests = digests_of(tmp_path_factory.mktemp("plain"), *words)
        return [f"DIGEST {index} {digest}" for index, digest in enumerate(digests)]

    return outcomes


@pytest.mark.torture
@pytest.mark.timeout(400)
@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_a_cluster_that_is_interrupted(
    cell: Cell, tmp_path: Path, network: tuple[str, ...], undisturbed: Undisturbed
) -> None:
    if cell.training.startswith("fit"):
        pytest.importorskip("tf_keras", reason="Keras 2 comes in a package of its own")
    expected = undisturbed(TRAININGS[cell.training])
    run = CellRun(cell, tmp_path, network)
    started = run.start()
    run.until(cell.moment)
    began_seconds = time.monotonic()
    run.act()
    ended = launch.finish(started)
    seconds = time.monotonic() - began_seconds
    assert ended.returncode in cell.codes, ended.stderr.decode()[-3000:]
    assert not launch.processes_in(tmp_path)
    if ended.returncode:
        assert seconds < LONGEST_END_SECONDS
        again = launch.finish(run.start())
        assert again.returncode == 0, again.stderr.decode()[-3000:]
    outcomes = run.outcomes()
    assert len(outcomes) == len(expected)
    assert all(map(cell.is_right, outcomes, expected)), (outcomes, expected)
