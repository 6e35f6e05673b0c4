"""What, besides a command, stops a run, and how much time there is then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pitstop.events import StopRequested
from pitstop.record import record
from pitstop.supervisor.stops.kill_after import seconds_left
from pitstop.supervisor.stops.signal_actions import SignalActions
from pitstop.supervisor.stops.signals import ReceivedSignal, stop_request

PREEMPTION_CHOICES = ("auto", "none", "gce", "aws", "azure")
"""Of the machine's firmware, nobody's, or one of `preemption.cloud.CLOUDS`."""


@record
class StopPolicy:
    """What the user has chosen.

    Attributes:
        preemption: whose notices are followed, one of `PREEMPTION_CHOICES`.
        stops_under_pressure: memory or disk that gets short stops the run; else it
            is saved, and goes on.
        acknowledges: the cloud is told when its notice was obeyed.
        kill_after_seconds: from a SIGTERM to the SIGKILL that follows, 0 for none;
            None if nothing is known.
    """

    preemption: str = "auto"
    stops_under_pressure: bool = False
    acknowledges: bool = False
    signals: SignalActions = field(default_factory=SignalActions)
    kill_after_seconds: float | None = None

    def request(
        self,
        received: ReceivedSignal,
        sender_command: str,
        environment: Mapping[str, str],
        *,
        again: bool,
    ) -> StopRequested:
        """The event of a signal that asks to stop; `again`: somebody has asked before."""
        left = seconds_left(received.signal, sender_command, self.kill_after_seconds, environment)
        return stop_request(received, sender_command, again=again, seconds_left=left)
