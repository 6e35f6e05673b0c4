"""The life of one attempt as a table: what follows from each event in each state.  Pure."""

import enum
from collections.abc import Mapping

from pitstop.errors import InternalFault
from pitstop.record import Frozen


class State(enum.Enum):
    """Where an attempt is; the value is the name that users see."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDING = "ending"
    SAVING = "saving"
    SAVED = "saved"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


FINAL = frozenset({State.COMPLETED, State.STOPPED, State.FAILED})
_CALM = (State.STARTING, State.RUNNING)
_LIVE = (*_CALM, State.STOPPING, State.ENDING)


class Trigger(enum.Enum):
    """What can happen to an attempt; the trainer is the command with all that it started."""

    TRAINER_CONNECTED = "trainer connected"
    NOBODY_CONNECTED = "nobody connected"
    DAEMONIZED = "main process exited, training goes on"
    LEFTOVERS = "main process exited, others remain"
    STOP_GRACEFUL = "stop"
    STOP_NOW = "stop now"
    DEADLINE_PASSED = "deadline passed"
    HUNG = "stands still for good"
    TERMINATE_GRACE_PASSED = "terminate grace passed"
    TRAINER_GONE = "trainer gone"
    PERSISTER_FINISHED = "persister finished"
    PERSISTER_LOST = "persister lost"
    PERSISTER_GIVEN_UP = "persister given up"
    SAVING_LEFT = "stop now, and the save takes too long"
    ENDED_COMPLETED = "ended: completed"
    ENDED_STOPPED = "ended: stopped"
    ENDED_FAILED = "ended: failed"


class Instruction(enum.Enum):
    RAISE_GRACEFUL = "raise stop word: graceful"
    RAISE_NOW = "raise stop word: now"
    ARM_DEADLINE = "arm deadline"
    TERMINATE_TRAINER = "terminate trainer"
    KILL_TRAINER = "kill trainer"
    TELL_DAEMONIZED = "tell that the script daemonized"
    RESTART_PERSISTER = "restart persister"
    GIVE_UP_PERSISTER = "go on without persister"
    PERSIST_NEWEST = "persist newest snapshot"
    FINISH_PERSISTER = "finish persister"
    LEAVE_PERSISTER = "leave persister to its work"
    CONCLUDE = "decide how it ended"
    FINISH = "finish"


class Transition(Frozen):
    state: State
    instructions: tuple[Instruction, ...] = ()


def _to(state: State, *instructions: Instruction) -> Transition:
    return Transition(state, instructions)


_STOP = _to(State.STOPPING, Instruction.RAISE_GRACEFUL, Instruction.ARM_DEADLINE)
_STOP_AT_ONCE = _to(State.ENDING, Instruction.RAISE_NOW, Instruction.TERMINATE_TRAINER)
_KILL = _to(State.ENDING, Instruction.KILL_TRAINER)
_LEFTOVERS = _to(State.ENDING, Instruction.TERMINATE_TRAINER)
_SAVE = _to(State.SAVING, Instruction.PERSIST_NEWEST, Instruction.FINISH_PERSISTER)
_SAVE_AGAIN = _to(State.SAVING, Instruction.RESTART_PERSISTER, *_SAVE.instructions)
_CONCLUDE = _to(State.SAVED, Instruction.CONCLUDE)

# One row per state; a pair that is not listed cannot happen.
TABLE: Mapping[tuple[State, Trigger], Transition] = {
    (State.STARTING, Trigger.TRAINER_CONNECTED): _to(State.RUNNING),
    (State.STARTING, Trigger.NOBODY_CONNECTED): _to(State.RUNNING),
    (State.STARTING, Trigger.DAEMONIZED): _to(State.STARTING, Instruction.TELL_DAEMONIZED),
    (State.STARTING, Trigger.LEFTOVERS): _LEFTOVERS,
    (State.STARTING, Trigger.STOP_GRACEFUL): _STOP,
    (State.STARTING, Trigger.STOP_NOW): _STOP_AT_ONCE,
    (State.STARTING, Trigger.HUNG): _KILL,
    (State.STARTING, Trigger.TRAINER_GONE): _SAVE,
    (State.RUNNING, Trigger.TRAINER_CONNECTED): _to(State.RUNNING),
    (State.RUNNING, Trigger.DAEMONIZED): _to(State.RUNNING, Instruction.TELL_DAEMONIZED),
    (State.RUNNING, Trigger.LEFTOVERS): _LEFTOVERS,
    (State.RUNNING, Trigger.STOP_GRACEFUL): _STOP,
    (State.RUNNING, Trigger.STOP_NOW): _STOP_AT_ONCE,
    (State.RUNNING, Trigger.HUNG): _KILL,
    (State.RUNNING, Trigger.TRAINER_GONE): _SAVE,
    (State.STOPPING, Trigger.TRAINER_CONNECTED): _to(State.STOPPING),
    (State.STOPPING, Trigger.LEFTOVERS): _LEFTOVERS,
    (State.STOPPING, Trigger.STOP_GRACEFUL): _to(State.STOPPING),
    (State.STOPPING, Trigger.STOP_NOW): _STOP_AT_ONCE,
    (State.STOPPING, Trigger.DEADLINE_PASSED): _STOP_AT_ONCE,
    (State.STOPPING, Trigger.TRAINER_GONE): _SAVE,
    (State.ENDING, Trigger.TRAINER_CONNECTED): _to(State.ENDING),
    (State.ENDING, Trigger.LEFTOVERS): _LEFTOVERS,
    (State.ENDING, Trigger.STOP_GRACEFUL): _to(State.ENDING),
    (State.ENDING, Trigger.STOP_NOW): _to(State.ENDING, Instruction.KILL_TRAINER),
    (State.ENDING, Trigger.TERMINATE_GRACE_PASSED): _to(State.ENDING, Instruction.KILL_TRAINER),
    (State.ENDING, Trigger.TRAINER_GONE): _SAVE,
    **{
        (state, trigger): _to(state, instruction)
        for trigger, instruction in (
            (Trigger.PERSISTER_LOST, Instruction.RESTART_PERSISTER),
            (Trigger.PERSISTER_GIVEN_UP, Instruction.GIVE_UP_PERSISTER),
        )
        for state in _LIVE
    },
    (State.SAVING, Trigger.STOP_GRACEFUL): _to(State.SAVING),
    (State.SAVING, Trigger.STOP_NOW): _to(State.SAVING),
    (State.SAVING, Trigger.SAVING_LEFT): _to(
        State.SAVED, Instruction.LEAVE_PERSISTER, Instruction.CONCLUDE
    ),
    (State.SAVING, Trigger.PERSISTER_FINISHED): _CONCLUDE,
    (State.SAVING, Trigger.PERSISTER_LOST): _SAVE_AGAIN,
    (State.SAVING, Trigger.PERSISTER_GIVEN_UP): _CONCLUDE,
    (State.SAVED, Trigger.ENDED_COMPLETED): _to(State.COMPLETED, Instruction.FINISH),
    (State.SAVED, Trigger.ENDED_STOPPED): _to(State.STOPPED, Instruction.FINISH),
    (State.SAVED, Trigger.ENDED_FAILED): _to(State.FAILED, Instruction.FINISH),
}


def advance(state: State, signal: Trigger) -> Transition:
    """The transition of an event in a state; `InternalFault` for a pair that cannot happen."""
    transition = TABLE.get((state, signal))
    if transition is None:
        raise InternalFault(
            f"The event {signal.value!r} is not possible in the state {state.value!r}.",
            "Please report this; the checkpoints on disk are intact.",
        )
    return transition


class Lifecycle:
    """The present state of an attempt; only `feed` changes it."""

    def __init__(self) -> None:
        self.state = State.STARTING

    def feed(self, happened: Trigger) -> tuple[Instruction, ...]:
        transition = advance(self.state, happened)
        self.state = transition.state
        return transition.instructions

    @property
    def is_calm(self) -> bool:
        return self.state in _CALM

    @property
    def is_live(self) -> bool:
        """Whether the command's processes are there."""
        return self.state in _LIVE

    @property
    def is_over(self) -> bool:
        return self.state in FINAL
