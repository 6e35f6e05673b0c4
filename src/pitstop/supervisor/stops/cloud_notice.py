"""What a cloud says when it takes the machine away, read into one form.  Pure.

Sources: "Create and use preemptible VMs: detect preemption", "Get live migration notices" and
"Handle GPU host maintenance events" (Google Compute Engine), "Spot Instance interruption notices"
(Amazon EC2), and "Scheduled Events for Linux VMs" (Microsoft Azure).
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pitstop.durations import duration
from pitstop.events import Notice, StopRequested
from pitstop.record import Frozen

EARLY_SECONDS = 120.0  # of a notice that comes earlier, the time until then is still trained

_AMAZON_MOST_SECONDS = 120.0
_AZURE_LEAST_SECONDS = 30.0
_AZURE_ENDS = {
    "Preempt": "the spot machine is evicted",
    "Terminate": "the machine is deleted",
    "Reboot": "the machine is rebooted",
    "Redeploy": "the machine is moved to other hardware",
}
"""The events that do not leave the memory as it is."""


class MalformedNotice(ValueError):
    """A metadata server answered something that its documentation does not have."""


class PreemptionNotice(Frozen):
    """The machine goes away: when, in seconds since the epoch; who takes it and why, for users."""

    ends_at_seconds: float
    reason: str


class GoogleQuestion(Frozen):
    """A value in the metadata of Compute Engine; the last of its `values` ends the machine."""

    path: str
    values: tuple[str, ...]
    reason: str
    seconds: float  # from then to the end, at least
    gpu_seconds: float  # the same for a machine with GPUs

    def announces(self, body: str) -> bool:
        """Whether an answer announces the end; a `MalformedNotice` where it is none."""
        said = body.strip()
        if said not in self.values:
            raise MalformedNotice(f"{said[:40]!r} instead of {', '.join(self.values)}")
        return said == self.values[-1]


GOOGLE_QUESTIONS = (
    GoogleQuestion("preempted", ("FALSE", "TRUE"), "Google Compute Engine preempts it", 30.0, 30.0),
    GoogleQuestion(
        "maintenance-event",
        ("NONE", "MIGRATE_ON_HOST_MAINTENANCE", "TERMINATE_ON_HOST_MAINTENANCE"),
        "Google Compute Engine stops it for host maintenance",
        60.0,
        3600.0,
    ),
)


def amazon(body: str, now_seconds: float) -> PreemptionNotice:
    """From `spot/instance-action` of a marked instance; `MalformedNotice` for anything else."""
    action = _object(body)
    try:
        ends_at = datetime.fromisoformat(str(action["time"]))
        what = str(action["action"])
    except (KeyError, ValueError) as error:
        raise MalformedNotice(f"not an action with a time: {body[:80]!r}") from error
    ends_at_seconds = (ends_at if ends_at.tzinfo else ends_at.replace(tzinfo=UTC)).timestamp()
    return PreemptionNotice(
        min(ends_at_seconds, now_seconds + _AMAZON_MOST_SECONDS),
        f"Amazon EC2 is reclaiming the spot instance ({what})",
    )


def azure(body: str, own_name: str, now_seconds: float) -> PreemptionNotice | None:
    """The first of the scheduled events that ends this machine, not another one of its set.

    An event without a time is due now.  Raises `MalformedNotice` where it is not a list of events.
    """
    events = _object(body).get("Events", [])
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MalformedNotice(f"not a list of events: {body[:80]!r}")
    notices = []
    for event in events:
        resources = event.get("Resources") or []
        if not isinstance(resources, list):
            raise MalformedNotice(f"not a list of machines: {str(resources)[:40]!r}")
        what = _AZURE_ENDS.get(str(event.get("EventType")))
        if what is not None and own_name in resources:
            ends_at_seconds = _azure_seconds(str(event.get("NotBefore") or ""), now_seconds)
            notices.append(PreemptionNotice(ends_at_seconds, f"Microsoft Azure: {what}"))
    return min(notices, key=lambda each: each.ends_at_seconds, default=None)


def _azure_seconds(text: str, now_seconds: float) -> float:
    if not text:
        return now_seconds + _AZURE_LEAST_SECONDS
    try:
        # Not `email.utils`, which loads a good deal in every run.
        ends_at = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT")
    except ValueError as error:
        raise MalformedNotice(f"not a time: {text[:40]!r}") from error
    return ends_at.replace(tzinfo=UTC).timestamp()


def warning(notice: PreemptionNotice, now_seconds: float) -> Notice | None:
    """What to tell of a notice that asks for no stop yet; what is in memory is saved then."""
    left = notice.ends_at_seconds - now_seconds
    if left <= EARLY_SECONDS:
        return None
    return Notice(
        "machine_goes",
        f"{notice.reason}, in {duration(left)}; the training is saved now and continues until "
        f"{duration(EARLY_SECONDS)} before that.",
    )


def request(notice: PreemptionNotice, now_seconds: float) -> StopRequested | None:
    left = max(0.0, notice.ends_at_seconds - now_seconds)
    if left > EARLY_SECONDS:
        return None
    return StopRequested(
        source="preemption",
        urgency="graceful",
        reason=f"{notice.reason}, {left:.0f} s left",
        seconds_left=round(left, 1),
    )


def _object(body: str) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedNotice(f"not JSON: {body[:80]!r}") from error
    if not isinstance(found, dict):
        raise MalformedNotice(f"not a JSON object: {body[:80]!r}")
    return found
