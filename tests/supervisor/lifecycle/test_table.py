"""The lifecycle's table: complete, drawn, and without dead ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import InternalFault
from pitstop.supervisor.attempt.command import decide
from pitstop.supervisor.lifecycle.table import (
    FINAL,
    TABLE,
    Instruction,
    State,
    Transition,
    Trigger,
    advance,
)
from pitstop.supervisor.records.attempt_state import AttemptState

_PAGE = Path(__file__).parents[3] / "docs" / "lifecycle.md"
_FEEDS_AGAIN = {Instruction.CONCLUDE, Instruction.FINISH_PERSISTER}
_STOPS = {Trigger.STOP_GRACEFUL, Trigger.STOP_NOW}
_VERDICTS = {Trigger.ENDED_COMPLETED, Trigger.ENDED_STOPPED, Trigger.ENDED_FAILED}

# What is certain to come when nothing else does: time, the death of a killed
# process, the end of the persister.
_INEVITABLE = {
    State.STARTING: Trigger.TRAINER_GONE,
    State.RUNNING: Trigger.TRAINER_GONE,
    State.STOPPING: Trigger.DEADLINE_PASSED,
    State.ENDING: Trigger.TRAINER_GONE,
    State.SAVING: Trigger.PERSISTER_GIVEN_UP,
}


def _diagram() -> str:
    """The table as a mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.STARTING.value}"]
    lines += [_edge(state, signal, step) for (state, signal), step in TABLE.items()]
    lines += [f"    {state.value} --> [*]" for state in State if state in FINAL]
    return "\n".join(lines) + "\n"


def _edge(state: State, signal: Trigger, step: Transition) -> str:
    label = signal.value.replace(":", " -")
    actions = ", ".join(each.value.replace(":", " -") for each in step.instructions)
    arrow = f"    {state.value} --> {step.state.value} : {label}"
    return f"{arrow} / {actions}" if actions else arrow


def test_diagram_in_the_documentation_is_the_table() -> None:
    assert f"```mermaid\n{_diagram()}```" in _PAGE.read_text()


def test_every_state_that_is_not_final_has_a_way_on() -> None:
    left = {state for (state, _), step in TABLE.items() if step.state is not state}
    assert left == set(State) - FINAL


def test_pair_that_cannot_happen_names_both() -> None:
    with pytest.raises(InternalFault, match=r"'trainer connected'.*'saved'"):
        advance(State.SAVED, Trigger.TRAINER_CONNECTED)


def test_instructions_that_feed_again_come_last() -> None:
    early = [step.instructions[:-1] for step in TABLE.values()]
    assert not _FEEDS_AGAIN & {each for instructions in early for each in instructions}


def test_stop_during_training_raises_the_word_and_arms_the_deadline() -> None:
    for state in (State.STARTING, State.RUNNING):
        step = advance(state, Trigger.STOP_GRACEFUL)
        assert step.state is State.STOPPING
        assert step.instructions == (Instruction.RAISE_GRACEFUL, Instruction.ARM_DEADLINE)


def test_each_more_urgent_stop_goes_further() -> None:
    state, seen = State.RUNNING, []
    for signal in (Trigger.STOP_GRACEFUL, Trigger.STOP_NOW, Trigger.STOP_NOW):
        step = advance(state, signal)
        state = step.state
        seen.append(step.instructions[-1])
    expected = [Instruction.ARM_DEADLINE, Instruction.TERMINATE_TRAINER, Instruction.KILL_TRAINER]
    assert seen == expected


@given(st.data())
def test_any_sequence_reaches_the_end_and_no_stop_is_lost(data: st.DataObject) -> None:
    state, stopped, done = State.STARTING, False, list[Instruction]()
    wait_status = data.draw(st.sampled_from([0, 9, 256]))
    for _ in range(data.draw(st.integers(0, 12))):
        if state is State.SAVED:
            break
        possible = [signal for (where, signal) in TABLE if where is state]
        signal = data.draw(st.sampled_from(possible))
        stopped |= signal in _STOPS and state is not State.SAVING
        state, done = _step(state, signal, done)
    while state in _INEVITABLE:
        state, done = _step(state, _INEVITABLE[state], done)
    verdict = decide(AttemptState(stop_requested=stopped), wait_status)
    state, done = _step(state, verdict.signal, done)
    assert state in FINAL
    assert done[-1] is Instruction.FINISH
    assert (state is State.STOPPED) == stopped
    assert done.index(Instruction.PERSIST_NEWEST) < done.index(Instruction.FINISH_PERSISTER)


def _step(
    state: State, signal: Trigger, done: list[Instruction]
) -> tuple[State, list[Instruction]]:
    step = advance(state, signal)
    return step.state, [*done, *step.instructions]
