"""Where one attempt is."""

from __future__ import annotations

from pitstop.supervisor.lifecycle.table import FINAL, Instruction, State, Trigger, advance


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
        """Whether nobody has asked for its end."""
        return self.state in (State.STARTING, State.RUNNING)

    @property
    def is_live(self) -> bool:
        """Whether the command's processes are there."""
        return self.is_calm or self.state in (State.STOPPING, State.ENDING)

    @property
    def is_over(self) -> bool:
        return self.state in FINAL
