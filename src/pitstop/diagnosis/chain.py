"""How one thing led to the next: the events before an end, as far as they belong to it."""

from collections.abc import Iterator, Mapping

from pitstop import events
from pitstop.diagnosis.event_words import news_of
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, ChainLink
from pitstop.observation.kernel_log import parse_oom_kill

_LEAST_LINKS = 2  # one thing and the end that it led to need no chain: the summary tells them

_PRESSURE = "pressure"


def chain_of(evidence: Evidence, cause: CauseId) -> tuple[ChainLink, ...]:
    """What led to an end of this cause, the end itself last; empty where one thing did."""
    found = [
        ChainLink(
            _words_of(entry.event),
            _SOURCES.get(type(entry.event), "journal"),
            None if isinstance(entry.event, events.NonFiniteLocated) else entry.time_seconds,
        )
        for entry in evidence.entries
        if type(entry.event) in _LEADS_TO.get(cause, ()) and _can_lead(entry.event, cause)
    ]
    links = _in_time([*found, *_kernel_links(evidence, cause)])
    if len(links) < _LEAST_LINKS:
        return ()
    return (*links, *_end(evidence))


def _in_time(links: list[ChainLink]) -> list[ChainLink]:
    """Each link once, in order of time; what was found out after the end comes first."""
    first: dict[str, ChainLink] = {}
    for link in sorted(links, key=lambda link: link.time_seconds or 0.0):
        first.setdefault(link.text, link)
    return list(first.values())


def _kernel_links(evidence: Evidence, cause: CauseId) -> Iterator[ChainLink]:
    """Kills for memory; the kill of a worker has the time at which its end was noticed."""
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
        return f"Pitstop ended the attempt because of that{kept}"
    how = f"by {evidence.signal}" if evidence.signal else f"with exit code {evidence.exit_code}"
    return f"the attempt ended {how}{kept}"


_STANDSTILL = (
    events.Notice,
    events.WorkerDied,
    events.ThreadFailed,
    events.TrainingStalled,
    events.StopRequested,
    events.StopDeadlinePassed,
)
_STORAGE = (
    events.ExhaustionForecast,
    events.Notice,
    events.CheckpointFailed,
    events.ExceptionRaised,
)
_STOP = (
    events.TrainingStalled,
    events.StopRequested,
    events.StopDeadlinePassed,
    events.CheckpointFailed,
)
_SHORTAGE = (events.ExhaustionForecast, events.Notice)

_LEADS_TO: Mapping[CauseId, tuple[type[events.Event], ...]] = {
    "host_oom_killed": (*_SHORTAGE, events.WorkerDied),
    "host_alloc_failure": (*_SHORTAGE, events.ExceptionRaised),
    "hang_or_stall": _STANDSTILL,
    "killed_from_outside": (*_SHORTAGE, events.TrainingStalled),
    "nan_loss": (
        events.NonFiniteLoss,
        events.NonFiniteWeights,
        events.NonFiniteLocated,
        events.StopTrainingSet,
        events.ExceptionRaised,
    ),
    "disk_full": _STORAGE,
    "shm_exhausted": _STORAGE,
    "permission_or_readonly": _STORAGE,
    "callback_error": _STORAGE,
    "stop_requested": _STOP,
    "user_interrupt": _STOP,
    "preempted_or_terminated": _STOP,
    "time_limit": _STOP,
}
"""By cause, the events that can lead to it."""

_SOURCES: Mapping[type[events.Event], str] = {
    events.ExhaustionForecast: "flight recorder",
    events.TrainingStalled: "watchdog",
    events.ExceptionRaised: "exception",
    events.NonFiniteLocated: "find-nan",
}


def _can_lead(event: events.Event, cause: CauseId) -> bool:
    kinds = _LEADS_TO[cause]
    resource = "disk" if kinds is _STORAGE else "memory"
    match event:
        case events.ExhaustionForecast():
            return event.resource == resource
        case events.Notice():
            return event.code == _PRESSURE and f"short of {resource}" in event.message.lower()
        case events.StopRequested():
            return event.source != "supervisor_lost"
        case events.NonFiniteLocated():
            return event.where != "nowhere"
        case _:
            return True


def _words_of(event: events.Event) -> str:
    if not isinstance(event, events.Notice):
        return news_of(event)[1]
    text = event.message.partition(";")[0]
    return f"the run was {text[:1].lower()}{text[1:]}"
