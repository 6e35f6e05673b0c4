"""How one thing led to the next: the events before an end, as far as they belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, ChainLink
from pitstop.journal import Entry
from pitstop.observation.kernel_log import parse_oom_kill

_LEAST_LINKS = 2
"""One thing and the end that it led to need no chain: the summary tells them."""

_PRESSURE = "pressure"
_MEMORY = "short of memory"
_DISK = "short of disk"

Teller = Callable[[Any], str]
"""A link's text for an event of its kind; empty where the event is none."""


def chain_of(evidence: Evidence, cause: CauseId) -> tuple[ChainLink, ...]:
    """What led to an end of this cause, the end itself last; empty where one thing did."""
    tellers = _LEADS_TO.get(cause, {})
    found = [
        ChainLink(text, _SOURCES.get(type(entry.event), "journal"), _time_of(entry))
        for entry in evidence.entries
        if (tell := tellers.get(type(entry.event))) and (text := tell(entry.event))
    ]
    links = _in_time([*found, *_kernel_links(evidence, cause)])
    if len(links) < _LEAST_LINKS:
        return ()
    return (*links, *_end(evidence))


def _time_of(entry: Entry) -> float | None:
    return None if isinstance(entry.event, events.NonFiniteLocated) else entry.time_seconds


def _in_time(links: list[ChainLink]) -> list[ChainLink]:
    """Each once, in order; what was found out afterwards was there before all, and stands first."""
    first: dict[str, ChainLink] = {}
    for link in sorted(links, key=lambda link: link.time_seconds or 0.0):
        first.setdefault(link.text, link)
    return list(first.values())


def _kernel_links(evidence: Evidence, cause: CauseId) -> Iterator[ChainLink]:
    """Kills for memory; a worker's stands where its death was heard of."""
    ended = next(
        (each for each in evidence.entries if isinstance(each.event, events.TrainerExited)), None
    )
    if ended is None or cause not in ("host_oom_killed", "hang_or_stall"):
        return
    deaths = {
        entry.event.pid: entry.time_seconds
        for entry in evidence.entries
        if isinstance(entry.event, events.WorkerDied)
    }
    parsed = (parse_oom_kill(line) for line in evidence.kernel_lines)
    for pid in dict.fromkeys(kill.pid for kill in parsed if kill):
        is_trainer = pid in evidence.trainer_pids or evidence.numbers_differ
        if not is_trainer and pid not in deaths:
            continue  # a neighbour in the same cgroup
        who = "a data worker" if pid in deaths else "the trainer"
        when = deaths.get(pid, ended.time_seconds)
        text = f"the kernel killed {who} (process {pid}) for memory"
        # Just before the death that it brought.
        yield ChainLink(text, "kernel log", when - 0.001)


def _end(evidence: Evidence) -> Iterator[ChainLink]:
    for entry in evidence.entries:
        if isinstance(entry.event, events.AttemptEnded | events.TrainerExited):
            yield ChainLink(_end_text(evidence), "exit status", entry.time_seconds)
            return


def _end_text(evidence: Evidence) -> str:
    saved = evidence.checkpoint_step
    kept = f"; step {saved:,} is saved" if saved is not None else "; nothing was saved"
    if evidence.state == "completed":
        return "the script ended with exit code 0"
    if evidence.state == "stopped":
        return f"the attempt stopped{kept}"
    stalled = evidence.last(events.TrainingStalled)
    if stalled and stalled.action != "warn":
        return f"Pitstop ended the attempt for that{kept}"
    how = f"by {evidence.signal}" if evidence.signal else f"with exit code {evidence.exit_code}"
    return f"the attempt ended {how}{kept}"


# -- a link for each kind of event ------------------------------------------------


def _pressed(word: str) -> Teller:
    def tell(event: events.Notice) -> str:
        if event.code != _PRESSURE:
            return ""
        text = event.message.partition(";")[0]
        return f"the run was {text[:1].lower()}{text[1:]}" if word in text.lower() else ""

    return tell


def _grew(resource: str) -> Teller:
    def tell(event: events.ExhaustionForecast) -> str:
        if event.resource != resource:
            return ""
        python = " (Python's objects too)" if event.growing else ""
        rate = f"{phrases.size(round(event.per_second))}/s"
        return f"the use of {resource} grew by {rate}{python}, as was told at step {event.step:,}"

    return tell


def _worker_died(event: events.WorkerDied) -> str:
    how = f"was ended by {event.signal}" if event.signal else f"returned {event.exit_code}"
    return f"data worker {event.pid} {how}"


def _thread_failed(event: events.ThreadFailed) -> str:
    where = phrases.source_line(event.file, event.line, event.function)
    return f"thread {event.thread} ended with {event.class_name} at {where}"


def _stalled(event: events.TrainingStalled) -> str:
    return f"the training stood still at step {event.step:,}, {event.place}"


def _ended_for_it(event: events.StopRequested) -> str:
    if event.source != "supervisor_lost":
        return f"a stop was requested ({event.signal or event.source})"
    return ""


def _too_late(event: events.StopDeadlinePassed) -> str:
    return f"no step ended within {event.waited_seconds:.0f} s ({event.reason})"


def _save_failed(event: events.CheckpointFailed) -> str:
    return f"saving step {event.step:,} failed: {phrases.shorten(event.error, 80)}"


def _raised(event: events.ExceptionRaised) -> str:
    where = f"in callback {event.callback}" if event.callback else f"in phase {event.phase}"
    name = event.class_name.rpartition(".")[2]
    return f"{name} {where}: {phrases.shorten(event.message, 80)}"


def _became_bad(event: events.NonFiniteLoss) -> str:
    became = f"the {event.metric} became {event.value} at step {event.step:,}"
    losses = " -> ".join(phrases.number(float(loss)) for loss in event.recent[-4:])
    return f"{became}, after {losses}" if losses else became


def _weights_bad(event: events.NonFiniteWeights) -> str:
    return f"weights were not finite at step {event.step:,}"


def _located(event: events.NonFiniteLocated) -> str:
    if event.where == "nowhere":
        return ""
    return f"step {event.step:,}, run again: {phrases.bad_first(event.where, event.name)}"


def _stop_set(event: events.StopTrainingSet) -> str:
    who = event.callback or phrases.source_line(event.file, event.line)
    return f"{who} ended the training at step {event.step:,}"


_STANDSTILL: Mapping[type[events.Event], Teller] = {
    events.Notice: _pressed(_MEMORY),
    events.WorkerDied: _worker_died,
    events.ThreadFailed: _thread_failed,
    events.TrainingStalled: _stalled,
    events.StopRequested: _ended_for_it,
    events.StopDeadlinePassed: _too_late,
}
_STORAGE: Mapping[type[events.Event], Teller] = {
    events.ExhaustionForecast: _grew("disk"),
    events.Notice: _pressed(_DISK),
    events.CheckpointFailed: _save_failed,
    events.ExceptionRaised: _raised,
}
_STOP: Mapping[type[events.Event], Teller] = {
    events.TrainingStalled: _stalled,
    events.StopRequested: _ended_for_it,
    events.StopDeadlinePassed: _too_late,
    events.CheckpointFailed: _save_failed,
}

_LEADS_TO: Mapping[CauseId, Mapping[type[events.Event], Teller]] = MappingProxyType(
    {
        "host_oom_killed": {
            events.ExhaustionForecast: _grew("memory"),
            events.Notice: _pressed(_MEMORY),
            events.WorkerDied: _worker_died,
        },
        "host_alloc_failure": {
            events.ExhaustionForecast: _grew("memory"),
            events.Notice: _pressed(_MEMORY),
            events.ExceptionRaised: _raised,
        },
        "hang_or_stall": _STANDSTILL,
        "killed_from_outside": {
            events.ExhaustionForecast: _grew("memory"),
            events.Notice: _pressed(_MEMORY),
            events.TrainingStalled: _stalled,
        },
        "nan_loss": {
            events.NonFiniteLoss: _became_bad,
            events.NonFiniteWeights: _weights_bad,
            events.NonFiniteLocated: _located,
            events.StopTrainingSet: _stop_set,
            events.ExceptionRaised: _raised,
        },
        "disk_full": _STORAGE,
        "shm_exhausted": _STORAGE,
        "permission_or_readonly": _STORAGE,
        "callback_error": _STORAGE,
        "stop_requested": _STOP,
        "user_interrupt": _STOP,
        "preempted_or_terminated": _STOP,
        "time_limit": _STOP,
    }
)
"""By cause, the events that can lead to it, and what they are in a chain."""

_SOURCES: Mapping[type[events.Event], str] = MappingProxyType(
    {
        events.ExhaustionForecast: "flight recorder",
        events.TrainingStalled: "watchdog",
        events.ExceptionRaised: "exception",
        events.NonFiniteLocated: "find-nan",
    }
)
