"""The lives in ARCHITECTURE.md are the ones that a recorded run shows."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import pytest

from tests.integration.chain import EXIT_CODES
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor import launch

ROOT = Path(__file__).parents[2]
_TRACED = Path(__file__).parent / "traced"
_LIFE = re.compile(r"^- \*\*(\w+)\*\*, (\w+): (.+?)(?=^- |^$)", re.M | re.S)
_FUNCTION = re.compile(r"`([\w.]+:[\w.]+)`")
_PROCESSES = {
    "trainer": ("train.py-", True),
    "copier": ("train.py-", False),
    "supervisor": ("pitstop.cli.main-run-", True),
    "persister": ("pitstop.snapshot.persister-", True),
}
"""By the word in the lists: how the name of the record begins, and whether its main thread runs."""

_POINTS = ("stop@batch:5", "kill@batch:9")
_ATTEMPT_OF = {"step": 1, "stop": 1, "crash": 2}

# One worker records the run.
pytestmark = pytest.mark.xdist_group("lives")

Lives = Mapping[tuple[str, str], tuple[str, ...]]


def lives() -> Lives:
    """The functions of each list, by what it is the life of and where it happens."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return {
        (found[1], found[2]): tuple(_FUNCTION.findall(found[3])) for found in _LIFE.finditer(text)
    }


def runs_in_order(calls: list[str], life: tuple[str, ...]) -> bool:
    """Whether the calls, from some call of the first function on, first come in this order."""
    known = [call for call in calls if call in life]
    starts = [index for index, call in enumerate(known) if call == life[0]]
    return any(tuple(dict.fromkeys(known[start:])) == life for start in starts)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a run that is stopped in its first attempt and killed in its second."""
    folder = tmp_path_factory.mktemp("lives")
    run = KerasRun(folder, "train.py", (OUT, "--epochs", "1"), ("--every", "1steps"))
    search = launch.environment()["PYTHONPATH"]
    for attempt, point in enumerate(_POINTS, start=1):
        records = folder / str(attempt)
        records.mkdir()
        variables = {
            "FAULTS": " ".join(_POINTS),
            "FAULTS_DONE": str(folder / "faults"),
            "STOP_COMMAND": f"{' '.join(launch.PITSTOP)} stop run --no-wait",
            "PYTHONPATH": f"{_TRACED}{os.pathsep}{search}",
            "TRACED_CALLS": str(records),
        }
        ended = launch.finish(launch.start(folder, *run.words(), **variables))
        assert ended.returncode == EXIT_CODES[point.partition("@")[0]], ended.stderr
    return folder


def test_the_lists_are_there() -> None:
    assert {life for life, _ in lives()} == set(_ATTEMPT_OF)
    assert all(len(functions) > 2 for functions in lives().values())


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("life", "place"), list(lives()))
def test_functions_run_in_the_order_of_the_list(recorded: Path, life: str, place: str) -> None:
    prefix, main = _PROCESSES[place]
    (record,) = (recorded / str(_ATTEMPT_OF[life])).glob(f"{prefix}*.txt")
    lines = (line.rsplit(" ", 1) for line in record.read_text().splitlines())
    calls = [call for thread, call in lines if (thread == "MainThread") == main]
    functions = lives()[life, place]
    assert set(functions) <= set(calls)
    assert runs_in_order(calls, functions)


@pytest.mark.parametrize(("life", "place"), list(lives()))
def test_no_life_comes_back_twice_into_a_room(life: str, place: str) -> None:
    modules = [function.partition(":")[0].split(".") for function in lives()[life, place]]
    rooms = [".".join(module[: 2 if module[0] == "supervisor" else 1]) for module in modules]
    entered = Counter(room for room, _ in groupby(rooms))
    assert max(entered.values()) <= 2
