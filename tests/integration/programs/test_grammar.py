"""What is generated is what its parts say, without running it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.programs.changes import CHANGES, NEW
from tests.integration.programs.drawing import program_of
from tests.integration.programs.grammar import EVENTS, Holder, Program, fitted
from tests.integration.programs.places import PLACES
from tests.integration.programs.smaller import smallest
from tests.integration.programs.trainings import TRAININGS
from tests.integration.programs.values import VALUES
from tests.integration.programs.writer import first_attempt, last_attempt

NUMBERS = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_every_attempt_is_python(number: int) -> None:
    program = program_of(number)
    for attempt in (first_attempt(program), last_attempt(program)):
        for name, text in attempt.files.items():
            compile(text, name, "exec")


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_a_fitting_program_stays_as_it_is(number: int) -> None:
    program = program_of(number)
    assert fitted(program) == program
    assert all(0 < step < program.steps for _, step in program.interruptions)


@pytest.mark.parametrize("event", EVENTS)
def test_every_value_fits_into_every_place(event: str) -> None:
    for place in PLACES:
        holders = tuple(Holder(place, value, event, "rate") for value in sorted(VALUES))
        for name, text in first_attempt(Program(holders=holders)).files.items():
            compile(text, name, "exec")


def test_every_change_is_reached_and_changes_something() -> None:
    reached = {change for way in TRAININGS.values() for change in way.changes}
    assert reached == set(CHANGES)
    for way in TRAININGS:
        for change in TRAININGS[way].changes:
            program = Program(training=way, change=change)
            differs = first_attempt(program) != last_attempt(program)
            assert differs == (change != "nothing")
            assert NEW in CHANGES[change].truths


def test_what_does_not_matter_is_left_out() -> None:
    at_fault = Holder("closure", "list", "batch", "rate")
    other = Holder("global", "int", "epoch", "rate")
    program = Program(data="generator", holders=(other, at_fault), callbacks=("csv",))
    found = smallest(program, lambda candidate: at_fault in candidate.holders)
    assert found == Program(holders=(at_fault,))
