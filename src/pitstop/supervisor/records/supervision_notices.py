"""What the user is told of standstills, restarts, bad losses and what will run out.  Pure."""

from __future__ import annotations

from pitstop.events import (
    Event,
    ExhaustionForecast,
    NonFiniteLoss,
    RestartCancelled,
    RestartPlanned,
    RestartRefused,
    TrainingStalled,
    TrainingWentOn,
)
from pitstop.supervisor.records.flight_notices import forecast_line

_ACTIONS = {
    "warn": "",
    "kill": " It is ended, as --on-hang asks.",
    "restart": " It is ended and started again, as --on-hang asks.",
}


def line_for(event: Event) -> str:
    """What to tell the user about an event; empty for one of another kind."""
    match event:
        case TrainingStalled():
            return _stalled_line(event)
        case TrainingWentOn():
            return f"the training goes on, after {event.seconds:.0f} s."
        case ExhaustionForecast():
            return forecast_line(event)
        case RestartPlanned():
            count = f"restart {event.restart} of {event.restarts}"
            return f"failed ({event.cause}); {count} in {event.wait_seconds:.1f} s."
        case RestartRefused():
            return f"not started again: {event.reason}."
        case NonFiniteLoss():
            return _bad_loss_line(event)
        case RestartCancelled():
            return "stopped while waiting to start again; run the same command again to go on."
        case _:
            return ""


def _stalled_line(event: TrainingStalled) -> str:
    seconds, phase = f"{event.seconds:.0f} s", event.phase.replace("_", " ")
    stacks = f" Stacks: {event.stacks_file}." if event.stacks_file else ""
    where = f"no progress for {seconds} at step {event.step} ({phase}): {event.place}."
    return f"{where}{stacks}{_ACTIONS.get(event.action, '')}"


def _bad_loss_line(event: NonFiniteLoss) -> str:
    at = f"step {event.step} (epoch {event.epoch + 1}, step {event.step_in_epoch})"
    return f"the {event.metric} became {event.value} at {at}: from here on the training is useless."
