"""When silence is too long: the usual pace of a training, learned phase by phase.  Pure.

What counts is time in which nobody saw progress, and which we were awake for.
"""

from collections.abc import Hashable, Mapping
from dataclasses import field, replace

from pitstop.link.beacon import Phase
from pitstop.record import Frozen

LOOK_SECONDS = 1.0

LONGEST_LOOK_SECONDS = 1.5  # a longer time between two looks counts as this: nobody watched then

WORKER_SECONDS = 5.0  # the patience with a training whose data worker has died

_SUSPICIOUS_SECONDS = 3.0
_LOOKS_TO_KNOW = 4
_BUSY_FACTOR = 10
_UNHURRIED_FACTOR = 5
_STEPS_OF_PATIENCE = 20
_GAPS_OF_PATIENCE = 3

PACED = frozenset({Phase.TRAIN, Phase.VALIDATION, Phase.PREDICT})
"""Phases in which something is known to happen again and again."""

DRAWING = PACED | {Phase.FIRST_STEP}  # phases that wait for the input


class HangPolicy(Frozen):
    after_seconds: float = 60.0  # the shortest silence that counts, 0 for no watch
    action: str = "warn"  # "warn", "kill" or "restart"
    replaces_workers: bool = False  # if a data worker has died, "restart" instead of "warn"

    def action_for(self, doing: str) -> str:
        lost = doing == "worker" and self.replaces_workers
        return "restart" if lost and self.action == "warn" else self.action


class Observation(Frozen):
    """What is seen of the trainer at one moment."""

    now_seconds: float
    mark: Hashable  # changes with every progress
    phase: Phase
    step_seconds: float = 0.0
    busy: bool = False  # its processes compute, or read and write
    stopped: bool = False
    worker_died: bool = False  # a process that feeds this epoch has died


class IdleTime(Frozen):
    """The last look, and how long there was no progress: idle, and busy with something."""

    last: Observation | None = None
    idle_seconds: float = 0.0
    busy_seconds: float = 0.0
    longest_seconds: Mapping[Phase, float] = field(default_factory=dict)  # silences that have ended

    @property
    def seconds(self) -> float:
        return self.idle_seconds + self.busy_seconds


def see(silence: IdleTime, look: Observation) -> IdleTime:
    last = silence.last
    if last is None:
        return IdleTime(look, 0.0, 0.0, silence.longest_seconds)
    if look.mark != last.mark:
        return IdleTime(look, 0.0, 0.0, _learned(silence, last.phase))
    seconds = min(max(0.0, look.now_seconds - last.now_seconds), LONGEST_LOOK_SECONDS)
    if look.stopped:
        return replace(silence, last=look)
    if look.busy:
        return replace(silence, last=look, busy_seconds=silence.busy_seconds + seconds)
    return replace(silence, last=look, idle_seconds=silence.idle_seconds + seconds)


def begin_again(silence: IdleTime) -> IdleTime:
    """The same, as if there had been progress now: the silence has a good reason."""
    phase = silence.last.phase if silence.last else Phase.STARTING
    return IdleTime(silence.last, 0.0, 0.0, _learned(silence, phase))


def is_suspicious(silence: IdleTime, after_seconds: float) -> bool:
    """Whether to look at what its processes do: this costs more, and must come early."""
    latest = after_seconds - _LOOKS_TO_KNOW * LOOK_SECONDS
    return silence.seconds >= min(_SUSPICIOUS_SECONDS, latest)


def patience_seconds(silence: IdleTime, after_seconds: float) -> float:
    """How long nothing may happen, and nothing be done, before it is a standstill.

    At least `after_seconds`, more where steps or the silences so far are long, or no pace is known.
    """
    look = silence.last
    if look is None:
        return float("inf")
    steps = _STEPS_OF_PATIENCE * look.step_seconds
    least = after_seconds if _is_paced(look) else _UNHURRIED_FACTOR * after_seconds
    usual = _GAPS_OF_PATIENCE * _usual_seconds(silence, look)
    whole = max(least, usual, steps if look.phase is Phase.TRAIN else 0.0)
    if look.worker_died and look.phase in DRAWING:
        return min(whole, max(WORKER_SECONDS, steps))
    return whole


def is_overdue(silence: IdleTime, after_seconds: float) -> bool:
    """Whether the silence is too long; in the end also for an endless loop, which computes."""
    look = silence.last
    if look is None or look.stopped or after_seconds <= 0:
        return False
    patience = patience_seconds(silence, after_seconds)
    if silence.idle_seconds >= patience:
        return True
    return _is_paced(look) and silence.seconds >= _BUSY_FACTOR * max(patience, after_seconds)


def may_end(phase: Phase, doing: str) -> bool:
    """Whether a standstill there is ground enough to end the trainer.

    Outside of its trainings a script may wait; and whoever suspended a process wants it to stay.
    """
    if doing == "exit":
        return True
    return phase not in (Phase.STARTING, Phase.BETWEEN_FITS) and doing != "stopped"


def _is_paced(look: Observation) -> bool:
    return look.phase in PACED and (look.phase is not Phase.TRAIN or look.step_seconds > 0)


def _usual_seconds(silence: IdleTime, look: Observation) -> float:
    longest = silence.longest_seconds.get(look.phase, 0.0)
    if look.phase is Phase.TRAIN and not look.step_seconds:
        # The second step: all that is known of its length is the first one's.
        return max(longest, silence.longest_seconds.get(Phase.FIRST_STEP, 0.0))
    return longest


def _learned(silence: IdleTime, phase: Phase) -> Mapping[Phase, float]:
    longest = max(silence.longest_seconds.get(phase, 0.0), silence.seconds)
    return {**silence.longest_seconds, phase: longest}
