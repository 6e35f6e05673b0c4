"""What a cloud says when it takes the machine away, read into one form.  Pure.

Sources: the clouds' own pages, "Create and use preemptible VMs: detect preemption",
"Get live migration notices" and "Handle GPU host maintenance events" (Google Compute
Engine), "Spot Instance interruption notices" (Amazon EC2), and "Scheduled Events for
Linux VMs" (Microsoft Azure).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pitstop.durations import duration
from pitstop.events import Notice, StopRequested
from pitstop.record import record

GOOGLE_SECONDS = 30.0
"""The time that Compute Engine gives from its notice of a preemption to the forced stop."""

MAINTENANCE_SECONDS = 60.0
"""And from its notice of a maintenance to the stop, or to the move."""

GPU_MAINTENANCE_SECONDS = 3600.0
"""The same where the machine has GPUs."""

EARLY_SECONDS = 120.0
"""Of a notice that comes earlier, the time until then is still trained."""

_AMAZON_MOST_SECONDS = 120.0
_AZURE_LEAST_SECONDS = 30.0
_AZURE_ENDS = {
    "Preempt": "the spot machine is evicted",
    "Terminate": "the machine is deleted",
    "Reboot": "the machine is rebooted",
    "Redeploy": "the machine is moved to other hardware",
}
"""The events that do not leave the memory as it is."""

_AZURE_PAUSE = "Freeze"


class MalformedNotice(ValueError):
    """A metadata server answered something that its documentation does not have."""


@record
class PreemptionNotice:
    """The machine goes away, or is moved.

    Attributes:
        ends_at_seconds: when, in seconds since the epoch.
        reason: who takes it and why, for the user.
        survives: it goes on afterwards, with its memory as it was.
    """

    ends_at_seconds: float
    reason: str
    survives: bool = False


def google(body: str, seen_at_seconds: float) -> PreemptionNotice | None:
    """From `instance/preempted`, TRUE or FALSE, else a `MalformedNotice`; seen first then."""
    said = body.strip()
    if said not in ("TRUE", "FALSE"):
        raise MalformedNotice(f"neither TRUE nor FALSE but {said[:40]!r}")
    if said == "FALSE":
        return None
    return PreemptionNotice(seen_at_seconds + GOOGLE_SECONDS, "Google Compute Engine preempts it")


def google_maintenance(
    body: str, seen_at_seconds: float, notice_seconds: float
) -> PreemptionNotice | None:
    """From `instance/maintenance-event`, first seen then; else a `MalformedNotice`.

    `notice_seconds`: the time there is from then on, if the machine is stopped.
    """
    match body.strip():
        case "NONE":
            return None
        case "TERMINATE_ON_HOST_MAINTENANCE":
            reason = "Google Compute Engine stops it to maintain its host"
            return PreemptionNotice(seen_at_seconds + notice_seconds, reason)
        case "MIGRATE_ON_HOST_MAINTENANCE":
            reason = "Google Compute Engine moves the machine to another host"
            ends_at_seconds = seen_at_seconds + MAINTENANCE_SECONDS
            return PreemptionNotice(ends_at_seconds, reason, survives=True)
        case said:
            raise MalformedNotice(f"no maintenance event but {said[:40]!r}")


def amazon(body: str, now_seconds: float) -> PreemptionNotice:
    """From `spot/instance-action`, which exists only once the instance is marked.

    A clock that is wrong does not make more of it than the two minutes there are.  Raises
    `MalformedNotice` where it is not an action with a time.
    """
    action = _object(body)
    try:
        ends_at = datetime.fromisoformat(str(action["time"]))
        what = str(action["action"])
    except (KeyError, ValueError) as error:
        raise MalformedNotice(f"no action with a time: {body[:80]!r}") from error
    ends_at_seconds = (ends_at if ends_at.tzinfo else ends_at.replace(tzinfo=UTC)).timestamp()
    return PreemptionNotice(
        min(ends_at_seconds, now_seconds + _AMAZON_MOST_SECONDS),
        f"Amazon EC2 takes the spot instance back ({what})",
    )


def azure(body: str, own_name: str, now_seconds: float) -> PreemptionNotice | None:
    """The first of the scheduled events that ends this machine, else one that pauses it.

    Machines of one availability or scale set see each other's events.  An event that gives no time
    counts from `now_seconds`.  Raises `MalformedNotice` where it is not a list of events.
    """
    events = _object(body).get("Events", [])
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MalformedNotice(f"no list of events: {body[:80]!r}")
    ours = [event for event in events if _concerns(event, own_name)]
    notices = [_azure_notice(event, now_seconds) for event in ours]
    return min(notices, key=lambda each: (each.survives, each.ends_at_seconds), default=None)


def warning(notice: PreemptionNotice, now_seconds: float) -> Notice | None:
    """What to tell of a notice that asks for no stop yet, None of one that does.

    Whatever is only in memory is saved then, in case that the cloud keeps no promise.
    """
    if notice.survives:
        message = f"{notice.reason}; what was trained is saved, and training goes on."
        return Notice("machine_moves", message)
    left = notice.ends_at_seconds - now_seconds
    if left <= EARLY_SECONDS:
        return None
    return Notice(
        "machine_goes",
        f"{notice.reason}, in {duration(left)}; what was trained is saved, and "
        f"training goes on until {duration(EARLY_SECONDS)} before.",
    )


def request(notice: PreemptionNotice, now_seconds: float) -> StopRequested | None:
    """The request to stop that a notice makes, None while there is much time, or no need."""
    left = max(0.0, notice.ends_at_seconds - now_seconds)
    if notice.survives or left > EARLY_SECONDS:
        return None
    return StopRequested(
        source="preemption",
        urgency="graceful",
        reason=f"{notice.reason}, {left:.0f} s left",
        seconds_left=round(left, 1),
    )


def _concerns(event: Mapping[str, Any], own_name: str) -> bool:
    known = event.get("EventType") in (*_AZURE_ENDS, _AZURE_PAUSE)
    resources = event.get("Resources") or []
    if not isinstance(resources, list):
        raise MalformedNotice(f"no list of machines: {str(resources)[:40]!r}")
    return known and own_name in resources


def _azure_notice(event: Mapping[str, Any], now_seconds: float) -> PreemptionNotice:
    ends_at_seconds = now_seconds + _AZURE_LEAST_SECONDS
    # Empty once the event has started.
    if text := str(event.get("NotBefore") or ""):
        try:
            # Not `email.utils`, which loads a good deal in every run.
            ends_at = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT")
        except ValueError as error:
            raise MalformedNotice(f"no time: {text[:40]!r}") from error
        ends_at_seconds = ends_at.replace(tzinfo=UTC).timestamp()
    what = _AZURE_ENDS.get(str(event["EventType"]))
    return PreemptionNotice(
        ends_at_seconds,
        f"Microsoft Azure: {what or 'the machine is paused for some seconds'}",
        survives=what is None,
    )


def _object(body: str) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedNotice(f"no JSON: {body[:80]!r}") from error
    if not isinstance(found, dict):
        raise MalformedNotice(f"no JSON object: {body[:80]!r}")
    return found
