"""The steps of a process that trains together with others: none ends without all of them."""

import time

from pitstop.link.beacon import Beacon, Stop

_TURN_SECONDS = 0.001


class Lockstep:
    """What a member of a gang does at the end of a step, see `cluster.stop_agreement`.

    Members save and stop at the end of a training step, at the first boundary there: a later one,
    of a call that trains nothing, has no number that all members know.

    Where there are others, they have `agreed` on the state that they go on from; else nothing is to
    be waited for. `doubt`: why the members do not go on exactly; empty where they do, or where
    nothing more is known than that there are others.
    """

    def __init__(self, beacon: Beacon, *, agreed: bool, doubt: str) -> None:
        self.agreed = agreed
        self.doubt = doubt
        self._beacon = beacon
        self._ended = self._ended_before = -1

    def ends(self, step: int) -> bool:
        """Whether this ends a step; returns when the next may begin, or a stop was asked for."""
        if not self.agreed:
            return True
        if step <= self._ended:
            return False
        self._ended_before, self._ended = self._ended, step
        beacon = self._beacon
        # In this order: the supervisor asks for a hold, and then reads which step was entered.
        beacon.enter(step + 1)
        while beacon.hold_step() <= step and not beacon.stop():
            beacon.hold(step)
            time.sleep(_TURN_SECONDS)
        return True

    def saves_at(self, step: int) -> bool:
        began = self._ended_before if self._ended_before >= 0 else step - 1
        return began < self._beacon.snapshot_order() <= step

    def raise_stop(self) -> None:
        if not self.agreed:
            self._beacon.request_stop(Stop.GRACEFUL)
