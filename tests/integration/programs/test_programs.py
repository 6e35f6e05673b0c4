"""Generated programs: resumed ones end as undisturbed ones do, or say that they may not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.integration.programs.conftest import OUTCOME
from tests.integration.programs.drawing import program_of
from tests.integration.programs.grammar import Holder, Program
from tests.integration.programs.runner import Outcome, Runner
from tests.integration.programs.smaller import smallest
from tests.integration.programs.verdict import FAILURES
from tests.integration.supervisor.launch import PITSTOP

PROGRAMS, TO_A_TEST = 2000, 20
IN_EVERY_TEST_RUN = (2, 3, 4, 5, 6, 8, 9, 11, 14, 16, 31, 39, 51)
"""Of different ways to train; small ones, since each takes three trainings."""
WRONG_ONCE = (
    Program(training="several", change="rate", places=(0.3,)),
    Program(change="momentum", endings=("stop", "stop"), places=(0.3, 0.6), changes_early=True),
    Program(data="from_generator_swallowed", training="search", endings=("stop",), places=(0.48,)),
    Program(
        data="generator_shared", training="caught", endings=("stop", "kill"), places=(0.36, 0.8)
    ),
    Program(data="tf_data_captured", training="search", endings=("stop",), places=(0.44,)),
    Program(data="tf_data_shuffled_twice", places=(0.7,), every_steps=4),
    Program(
        holders=(Holder("module", "files_that_are_there", "batch", "reported"),),
        training="phases",
        change="rate",
        places=(0.9,),
        every_steps=4,
    ),
    Program(
        holders=(Holder("schedule_object", "files_of_a_pattern", "epoch", "reported"),),
        training="phases",
        places=(0.16,),
        every_steps=2,
    ),
    Program(
        holders=(Holder("listener", "files_of_a_pattern", "batch", "rate"),),
        places=(0.0,),
        every_steps=1,
    ),
)


def _explained(runner: Runner, program: Program, outcome: Outcome) -> str:
    """A failure, with the smallest program that fails."""
    found = {program: outcome}

    def fails(candidate: Program) -> bool:
        found[candidate] = runner.run(candidate)
        return found[candidate].verdict in FAILURES

    least = smallest(program, fails)
    return f"{program}\nas small as it gets: {least}\n{found[least]}"


def _groups() -> Iterator[ParameterSet]:
    yield pytest.param(IN_EVERY_TEST_RUN, id="in_every_test_run")
    for first in range(0, PROGRAMS, TO_A_TEST):
        numbers = range(first, first + TO_A_TEST)
        yield pytest.param(numbers, id=f"from_{first}", marks=pytest.mark.torture)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("numbers", list(_groups()))
def test_resumed_programs_are_identical_or_say_that_they_are_not(
    numbers: Sequence[int], runner: Runner, record_property: Callable[[str, object], None]
) -> None:
    failures = []
    for number in numbers:
        program = program_of(number)
        outcome = runner.run(program)
        record_property(OUTCOME, outcome.verdict.value)
        if outcome.verdict in FAILURES:
            failures.append(f"{number}: {_explained(runner, program, outcome)}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("program", WRONG_ONCE, ids=str)
def test_a_program_that_was_wrong_once_is_right(program: Program, runner: Runner) -> None:
    outcome = runner.run(program)
    assert outcome.verdict not in FAILURES, outcome


@pytest.mark.torture
def test_a_fork_is_as_good_as_a_new_interpreter(runner: Runner, tmp_path: Path) -> None:
    program = Program(model="dropout", data="tf_data", validation="tf_data", callbacks=("csv",))
    new = Runner(tmp_path, (sys.executable,), PITSTOP).run(program)
    forked = runner.run(program)
    assert (new.verdict, new.level) == (forked.verdict, forked.level)
    assert new.truth.finals == forked.truth.finals == forked.resumed.finals == new.resumed.finals
