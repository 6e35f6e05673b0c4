"""Without one of its sensors, the diagnosis of a real run is more general, and never wrong.

Each recording is of a run to which something was really done.  Each sensor is taken away in
turn, as if the machine or the script had not shown it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pitstop.diagnosis import Diagnosis, Evidence, Finding, diagnose
from pitstop.diagnosis.evidence import FlightRecord
from pitstop.events import (
    EpochEnded,
    Event,
    ExceptionRaised,
    ExitCalled,
    FitEnded,
    FitLeft,
    FitRestored,
    FitStarted,
    InputExhausted,
    JobSeen,
    JobState,
    LevelKnown,
    NonFiniteLoss,
    Notice,
    ScriptEnded,
    StopRequested,
    StopTrainingSet,
    ThreadFailed,
    TrainerConnected,
    TrainerExited,
    TrainerStopped,
    TrainingStalled,
    TrainingWentOn,
    WorkerDied,
)
from pitstop.observation.observer import NO_KERNEL_LOG, NO_OOM_COUNTER
from tests.diagnosis.recordings import RECORDINGS, Recording

Sensor = Callable[[Evidence], Evidence]

_WITNESS = (
    *(EpochEnded, ExceptionRaised, ExitCalled, FitEnded, FitLeft, FitRestored, FitStarted),
    *(LevelKnown, NonFiniteLoss, ScriptEnded, StopTrainingSet, ThreadFailed, TrainerConnected),
    *(InputExhausted, TrainerStopped, WorkerDied),
)


def _without(*kinds: type[Event]) -> Sensor:
    def remove(evidence: Evidence) -> Evidence:
        kept = tuple(each for each in evidence.entries if not isinstance(each.event, kinds))
        return replace(evidence, entries=kept)

    return remove


def _changed(kind: type[Event], change: Callable[[Event], Event]) -> Sensor:
    def apply(evidence: Evidence) -> Evidence:
        entries = tuple(
            replace(each, event=change(each.event)) if isinstance(each.event, kind) else each
            for each in evidence.entries
        )
        return replace(evidence, entries=entries)

    return apply


def _exit_without(**fields: Any) -> Sensor:
    def change(event: Event) -> Event:
        assert isinstance(event, TrainerExited)
        lacks = [
            name
            for name, field in ((NO_KERNEL_LOG, "kernel_lines"), (NO_OOM_COUNTER, "oom_kills"))
            if field in fields
        ]
        return replace(event, **fields, missing=[*event.missing, *lacks])

    return _changed(TrainerExited, change)


def _without_sender(event: Event) -> Event:
    assert isinstance(event, StopRequested)
    return replace(event, sender_pid=None, sender_uid=None, sender_command="")


def _blind(evidence: Evidence) -> Evidence:
    """Neither the kernel nor the script is heard."""
    outside = _exit_without(oom_kills=None, memory_limit_bytes=None, kernel_lines=None, limits={})
    return _without(*_WITNESS)(outside(replace(evidence, output="")))


SENSORS: Mapping[str, Sensor] = {
    "output": lambda evidence: replace(evidence, output=""),
    "kernel log": _exit_without(kernel_lines=None),
    "memory counter": _exit_without(oom_kills=None, memory_limit_bytes=None),
    "kernel log and memory counter": _exit_without(
        kernel_lines=None, oom_kills=None, memory_limit_bytes=None
    ),
    "limits": _exit_without(limits={}),
    "exit status": _without(TrainerExited),
    "witness in the script": _without(*_WITNESS),
    "watchdog": _without(TrainingStalled, TrainingWentOn),
    "flight recorder": lambda evidence: replace(evidence, flight=FlightRecord()),
    "scheduler": _without(JobSeen, JobState),
    "sender of signals": _changed(StopRequested, _without_sender),
    "stop requests": _without(StopRequested),
    "notices": _without(Notice),
    "machine and script": _blind,
}

_OUTSIDE = frozenset({"killed_from_outside", "preempted_or_terminated"})
_BY_EXIT_CODE = frozenset({"user_code_error"})

MORE_GENERAL: Mapping[str, frozenset[str]] = {
    # An end with exit code 0 of which nothing else is known.
    "early_stopping_or_callback_stop": frozenset({"completed_normally"}),
    "dataset_exhausted": frozenset({"completed_normally"}),
    "nan_loss": frozenset({"completed_normally"}) | _BY_EXIT_CODE,
    # An exit code of which nothing else is known.
    "user_code_error": frozenset({"completed_normally"}),
    "callback_error": _BY_EXIT_CODE,
    "data_error": _BY_EXIT_CODE,
    # A file that is closed on a full disk may crash the library that writes it.
    "disk_full": frozenset({"native_crash"}) | _BY_EXIT_CODE,
    "permission_or_readonly": _BY_EXIT_CODE,
    "too_many_open_files": _BY_EXIT_CODE,
    "network_or_download_failure": _BY_EXIT_CODE,
    "checkpoint_corrupt_or_mismatch": _BY_EXIT_CODE,
    "dependency_or_import_error": _BY_EXIT_CODE,
    "worker_lost": _BY_EXIT_CODE,
    # A signal of which nothing else is known.
    "host_oom_killed": _OUTSIDE | {"stop_requested"},
    "time_limit": _OUTSIDE | {"user_interrupt", "stop_requested"},
    "hang_or_stall": _OUTSIDE,
    "host_alloc_failure": frozenset({"native_crash"}) | _BY_EXIT_CODE,
    "thread_or_process_limit": frozenset({"native_crash"}) | _BY_EXIT_CODE,
    "shm_exhausted": frozenset({"native_crash"}) | _BY_EXIT_CODE,
    "illegal_instruction": frozenset({"native_crash"}),
    "stop_requested": _OUTSIDE,
    "user_interrupt": _OUTSIDE | _BY_EXIT_CODE | {"stop_requested"},
    "preempted_or_terminated": _OUTSIDE | {"stop_requested"},
}
"""What may honestly be said in the place of a cause when less is known; `unknown` always."""


_BY_NAME = {each.name: each for each in RECORDINGS}
_NONE = ""


@cache
def _diagnosed(name: str, sensor: str = _NONE) -> Diagnosis:
    evidence = _BY_NAME[name].evidence
    return diagnose(SENSORS[sensor](evidence) if sensor else evidence)


def _found(name: str, sensor: str = _NONE) -> Finding:
    finding = _diagnosed(name, sensor).finding
    assert finding is not None
    return finding


def _allowed(recording: Recording) -> frozenset[str]:
    general = (MORE_GENERAL.get(cause, frozenset()) for cause in recording.accepts)
    return recording.accepts.union({"unknown"}, *general)


def test_the_whole_evidence_tells_the_cause() -> None:
    found = {each.name: _found(each.name).cause for each in RECORDINGS}
    assert not {
        each.name: found[each.name] for each in RECORDINGS if found[each.name] not in each.accepts
    }


@pytest.mark.parametrize("sensor", SENSORS)
def test_without_a_sensor_it_is_more_general_and_not_wrong(sensor: str) -> None:
    found = {each.name: _found(each.name, sensor) for each in RECORDINGS}
    assert not {
        each.name: finding.summary
        for each in RECORDINGS
        if (finding := found[each.name]).cause not in _allowed(each)
    }
    assert not {
        each.name: finding.summary
        for each in RECORDINGS
        if (finding := found[each.name]).cause not in each.accepts
        and _claims_more(finding, _found(each.name))
    }


def _claims_more(less: Finding, whole: Finding) -> bool:
    """Whether who sees less is surer than who sees all."""
    return less.confidence > whole.confidence + 0.02


@pytest.mark.parametrize("sensor", SENSORS)
def test_each_sensor_is_needed_by_some_run_or_only_confirms(sensor: str) -> None:
    """Taking a sensor away changes something that is said of at least one run."""
    changed = [
        each.name for each in RECORDINGS if _diagnosed(each.name, sensor) != _diagnosed(each.name)
    ]
    assert changed
