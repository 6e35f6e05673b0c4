"""Generated programs: resumed ones end as undisturbed ones do, or say that they may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration.programs.conftest import OUTCOME
from tests.integration.programs.drawing import program_of
from tests.integration.programs.grammar import Program
from tests.integration.programs.runner import Outcome, Runner
from tests.integration.programs.smaller import smallest
from tests.integration.programs.verdict import Verdict

PROGRAMS, TO_A_TEST = 2000, 20
FAILURES = {Verdict.WRONG, Verdict.BROKEN}


def _explained(runner: Runner, program: Program, outcome: Outcome) -> str:
    """A failure, with the smallest program that fails."""
    found = {program: outcome}

    def fails(candidate: Program) -> bool:
        found[candidate] = runner.run(candidate)
        return found[candidate].verdict in FAILURES

    least = smallest(program, fails)
    return f"{program}\nas small as it gets: {least}\n{found[least]}"


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", range(0, PROGRAMS, TO_A_TEST))
def test_resumed_programs_are_identical_or_say_that_they_are_not(
    first: int, runner: Runner, record_property: Callable[[str, object], None]
) -> None:
    failures = []
    for number in range(first, first + TO_A_TEST):
        program = program_of(number)
        outcome = runner.run(program)
        record_property(OUTCOME, outcome.verdict.value)
        if outcome.verdict in FAILURES:
            failures.append(f"{number}: {_explained(runner, program, outcome)}")
    assert not failures, "\n\n".join(failures)
