"""Ends that somebody or something asked for, and the natural end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from pitstop import events
from pitstop.diagnosis import output, phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.diagnosis.rules import schedulers
from pitstop.diagnosis.signatures.tables import ADVICE
from pitstop.events import StopRequested

_TIMEOUT_EXIT_CODE = 124
"""What timeout(1) of the GNU coreutils returns when the time is up."""

_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")

_SCHEDULER_LINES: dict[str, CauseId] = {
    "DUE TO TIME LIMIT": "time_limit",
    "DUE TO PREEMPTION": "preempted_or_terminated",
}
"""Words of slurmstepd, which says why it cancels a job in the job's own output."""

_SIGNAL_CAUSES: dict[str, CauseId] = {
    "SIGINT": "user_interrupt",
    "SIGTERM": "preempted_or_terminated",
    "SIGHUP": "preempted_or_terminated",
    "SIGQUIT": "user_interrupt",
    "SIGXCPU": "time_limit",
    "SIGUSR1": "preempted_or_terminated",
    "SIGUSR2": "preempted_or_terminated",
}

_OWN_SOURCES = {
    "command": "`pitstop stop`",
    "cluster": "another member of the cluster",
    "setting": "the step it was told to stop at",
    "condition": "the condition of --stop-when",
    "file": "the file `stop` in the run folder",
    "script": "`pitstop.request_stop` in the script",
}

_ELSEWHERE = "Run the same command on another machine that sees the run folder, or its mirror."

_UNDER_PRESSURE = "Give it more memory or disk, or free some, before the same command goes on."

_SLURM_SENDER = "slurmstepd"

_SIGNAL_ADVICE = {
    "SIGHUP": "The terminal or ssh session was closed: start the run inside tmux or with nohup.",
    "SIGTERM": "Ask the scheduler (sacct, kubectl describe, the cloud's event log) who ended it.",
    "SIGUSR1": "In Slurm, `--signal=B:USR1@120` with `exec pitstop run` signals Pitstop alone.",
    "SIGXCPU": "Raise the limit (`ulimit -t`, or ask for more time), or run in shorter pieces.",
}
_WHAT = {"time_limit": "the time limit", "preemption": "the cloud", "pressure": "--on-pressure"}


def completed_normally(evidence: Evidence) -> Finding | None:
    """The script ran to its end, and every `fit` in it returned."""
    if evidence.state != "completed":
        return None
    if evidence.open_fit:
        return _completed_all_the_same(evidence)
    ended_well = EvidenceItem("journal", "the attempt ended as completed")
    exit_status = EvidenceItem("exit status", "exit code 0") if evidence.exit else ended_well
    started, ended = evidence.last(events.FitStarted), evidence.last(events.FitEnded)
    if started is None or ended is None:
        text = "The script ended with exit code 0; no model.fit was seen in it."
        return Finding("completed_normally", 0.9, text, (exit_status,))
    if started.data.get("adapter") in events.LOOPS:
        text = f"Training finished: {phrases.steps(ended.step)}."
        loop = EvidenceItem("journal", f"the script's loop ended after {phrases.steps(ended.step)}")
        return Finding("completed_normally", 0.97, text, (exit_status, loop))
    epochs = max(ended.epochs_run, _epochs_seen(evidence, ended.fit))
    fits = EvidenceItem("journal", f"model.fit returned after {epochs} of {ended.epochs} epochs")
    unsaved, advice = _unsaved(evidence, ended.step)
    text = f"Training finished: {epochs} of {ended.epochs} epochs, {phrases.steps(ended.step)}"
    confidence = 0.97 if epochs >= ended.epochs else 0.6
    return Finding(
        "completed_normally", confidence, f"{text}{unsaved}.", (exit_status, fits), advice
    )


def _completed_all_the_same(evidence: Evidence) -> Finding | None:
    """Exit code 0 though a `fit` never returned: the script caught what left it, or went away."""
    fit = evidence.open_fit
    if fit is None or evidence.last(events.ExitCalled):
        return None
    at = f" at step {evidence.position.step:,}" if evidence.position else ""
    how, advice = _LEFT_FIT[evidence.last(events.ScriptEnded) is not None]
    text = f"The script ended with exit code 0, though model.fit did not return{at}"
    seen = (
        EvidenceItem("exit status", "exit code 0"),
        EvidenceItem("journal", f"fit {fit.fit} began ({fit.epochs} epochs) and never returned"),
    )
    return Finding("completed_normally", 0.75, f"{text}: {how}.", seen, (advice,))


_LEFT_FIT = {
    True: (
        "an exception that the script caught, most likely",
        "If that was not meant, print the exception where the script catches it.",
    ),
    False: (
        "by os._exit(0), or with a process that it left behind",
        "If that was not meant, search the script and its callbacks for os._exit.",
    ),
}
"""How a fit was left, by whether the interpreter ended in order; and what to do."""


def _unsaved(evidence: Evidence, last_step: int) -> tuple[str, tuple[str, ...]]:
    """What a disk that refused has kept from being saved, and what to do about it."""
    refused, saved = evidence.last(events.CheckpointFailed), evidence.checkpoint_step or 0
    if refused is None or refused.step <= saved or saved >= last_step:
        return "", ()
    lost = phrases.steps(last_step - saved)
    text = f", but the last {lost} are in no checkpoint: {refused.error.rstrip('.')}"
    return text, (refused.remedy,) if refused.remedy else ()


def _epochs_seen(evidence: Evidence, fit: int) -> int:
    # A resumed fit runs fewer epochs itself than the training has.
    epochs = (event.epoch + 1 for event in evidence.all(events.EpochEnded) if event.fit == fit)
    return max(epochs, default=0)


def asked_to_stop(evidence: Evidence) -> Finding | None:
    """Somebody asked Pitstop to stop the run, by command or by signal."""
    stop = evidence.stop
    if stop is None or evidence.state == "completed":
        return None
    request = _read_request(stop)
    described = EvidenceItem("journal", _describe(stop))
    seen = (described, *schedulers.job_items(evidence), *_how_it_went(evidence))
    confidence = 0.98 if evidence.state == "stopped" else 0.7
    more = () if request.cause in _KNOWN_WELL else _ask_scheduler(evidence)
    advice = more or ((request.advice,) if request.advice else ())
    return Finding(request.cause, confidence, _headline(evidence, request), seen, advice)


def stopped_by_somebody(evidence: Evidence) -> Finding | None:
    """The attempt stopped as one that was asked to, and nothing says who asked."""
    by_nan = any(each.source == "nan" for each in evidence.all(StopRequested))
    if evidence.state != "stopped" or evidence.stop is not None or by_nan:
        return None
    where = evidence.last(events.TrainerStopped)
    at = f" after step {where.step:,}" if where else ""
    text = f"The attempt was asked to stop, and stopped{at}; who asked is not recorded."
    seen = (EvidenceItem("journal", "the attempt ended as stopped"),)
    return Finding("stop_requested", 0.6, text, seen, (), ("who asked it to stop",))


_KNOWN_WELL: frozenset[CauseId] = frozenset({"stop_requested", "user_interrupt", "time_limit"})


def _ask_scheduler(evidence: Evidence) -> tuple[str, ...]:
    job = evidence.last(events.JobSeen)
    command = schedulers.ask(job) if job else ""
    if job is None or not command:
        return ()
    return (f"{command} {'tells' if ' and ' not in command else 'tell'} who ended the job.",)


@dataclass(frozen=True)
class _Request:
    """A stop request in words."""

    cause: CauseId
    words: str
    advice: str = ""


def _read_request(stop: events.StopRequested) -> _Request:
    if stop.source in _OWN_SOURCES:
        who = _OWN_SOURCES[stop.source] + _reason(stop)
        return _Request("stop_requested", f"Stopped on request ({who})")
    if stop.source == "preemption":
        words = f"The cloud took the machine away{_reason(stop)}"
        return _Request("preempted_or_terminated", words, _ELSEWHERE)
    if stop.source == "pressure":
        words = f"Stopped as --on-pressure asks{_reason(stop)}"
        return _Request("stop_requested", words, _UNDER_PRESSURE)
    if stop.source == "time_limit":
        words = f"Stopped before the time was up{_reason(stop)}"
        return _Request("time_limit", words, "Give it more time, or run it in pieces like this.")
    return _read_signal(stop)


def _read_signal(stop: events.StopRequested) -> _Request:
    sender = stop.sender_command.split()
    if _is_timeout(sender):
        duration = next((word for word in sender[1:] if _DURATION.fullmatch(word)), "")
        advice = f"Give it more time: `timeout {duration}` was too short."
        return _Request("time_limit", "The time limit of timeout(1) passed", advice)
    if stop.signal in ("SIGUSR1", "SIGUSR2"):
        return _read_usr(stop)
    if stop.signal == "SIGINT" and stop.from_terminal:
        return _Request("user_interrupt", "Ctrl-C in the terminal")
    cause = _SIGNAL_CAUSES.get(stop.signal, "preempted_or_terminated")
    words = f"Pitstop was sent {stop.signal or 'a signal'}{_sender(stop)}"
    return _Request(cause, words, _SIGNAL_ADVICE.get(stop.signal, ""))


def _read_usr(stop: events.StopRequested) -> _Request:
    if stop.sender_command.startswith(_SLURM_SENDER):
        words = f"Slurm sent {stop.signal}, as --signal tells it to do before the job's end"
        return _Request("time_limit", words, "`sacct -j JOBID` tells whether it was preempted.")
    return _Request(
        "stop_requested", f"Pitstop was asked to stop with {stop.signal}{_sender(stop)}"
    )


def _reason(stop: events.StopRequested) -> str:
    return f": {phrases.shorten(stop.reason, 120)}" if stop.reason else ""


def _sender(stop: events.StopRequested) -> str:
    if stop.sender_command:
        return f" by `{phrases.shorten(stop.sender_command, 60)}` (process {stop.sender_pid})"
    return f" by process {stop.sender_pid}" if stop.sender_pid else ""


def _describe(stop: events.StopRequested) -> str:
    what = stop.signal or _OWN_SOURCES.get(stop.source, "a signal")
    what = _WHAT.get(stop.source, what)
    user = f", user id {stop.sender_uid}" if stop.sender_uid is not None else ""
    return f"stop requested ({stop.urgency}): {what}{_reason(stop)}{_sender(stop)}{user}"


def _headline(evidence: Evidence, request: _Request) -> str:
    where = evidence.last(events.TrainerStopped)
    if where:
        at = phrases.place(where.step, where.epoch, where.step_in_epoch)
        return f"{request.words}; the trainer stopped cleanly after {at}."
    late = evidence.last(events.StopDeadlinePassed)
    if late:
        return f"{request.words}; {late.reason} in {late.waited_seconds:.0f} s: ended by force."
    if evidence.position and evidence.position.step:
        return f"{request.words}; the trainer ended at step {evidence.position.step:,}."
    role = evidence.last(events.RoleTaken)
    if role:
        return f"{request.words}; process {role.pid} {role.part}, and its steps are not seen."
    if evidence.last(events.InstrumentationUnavailable):
        return f"{request.words}; the steps of the script are not seen."
    return f"{request.words}, before the first step."


def _how_it_went(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    late = evidence.last(events.StopDeadlinePassed)
    if late is None:
        return ()
    text = f"ended by force after {late.waited_seconds:.0f} s in phase {late.phase}: {late.reason}"
    return (EvidenceItem("journal", text),)


def trainer_signalled(evidence: Evidence) -> Finding | None:
    """A signal that asks to end reached the trainer itself, past Pitstop."""
    cause = _SIGNAL_CAUSES.get(evidence.signal)
    if cause is None or cause == "time_limit" or evidence.stop:
        return None
    status = EvidenceItem("exit status", f"ended by {evidence.signal}")
    text = f"Somebody sent {evidence.signal} to the training process itself, not to Pitstop."
    advice = (
        "Signal the `pitstop run` process instead, or use `pitstop stop`: no step is lost then."
    )
    own = (_SIGNAL_ADVICE[evidence.signal],) if evidence.signal in _SIGNAL_ADVICE else ()
    more = _ask_scheduler(evidence) or own
    seen = (status, *schedulers.job_items(evidence))
    return Finding(cause, 0.85, text, seen, (advice, *more), ("who sent the signal",))


def cpu_time_limit(evidence: Evidence) -> Finding | None:
    """The processor time limit (RLIMIT_CPU) ended the trainer; see setrlimit(2).

    At the soft limit the kernel sends SIGXCPU, at the hard limit SIGKILL.
    """
    limit = evidence.limit("cpu_seconds")
    hard, used = limit.get("hard"), evidence.exit.cpu_seconds if evidence.exit else None
    at_hard = evidence.signal == "SIGKILL" and hard and used and used >= hard - 1
    if evidence.signal != "SIGXCPU" and not at_hard:
        return None
    seconds = hard if at_hard else limit.get("soft")
    of_limit = f" of {seconds} s" if seconds else ""
    used_text = f" after {used:.0f} s of processor time" if used else ""
    text = f"The processor time limit{of_limit} (ulimit -t) ended the trainer{used_text}."
    seen = (
        EvidenceItem("exit status", f"ended by {evidence.signal}"),
        EvidenceItem(
            "limits", f"cpu_seconds: {phrases.limit(limit)}; used {f'{used:.1f}' if used else '?'}"
        ),
    )
    advice = ADVICE["more_processor_time"]
    return Finding("time_limit", 0.95, text, seen, (advice,))


def timeout_wrapper(evidence: Evidence) -> Finding | None:
    """The command ran under timeout(1), whose time was up."""
    started = evidence.last(events.AttemptStarted)
    if evidence.exit_code != _TIMEOUT_EXIT_CODE or not started or not _is_timeout(started.command):
        return None
    command = phrases.shorten(" ".join(started.command), 60)
    text = f"timeout(1) ended the script: `{command}`."
    advice = "Put timeout around Pitstop: `timeout ... pitstop run -- ...`; no step is lost then."
    seen = (EvidenceItem("exit status", "exit code 124, as timeout returns when time is up"),)
    return Finding("time_limit", 0.93, text, seen, (advice,))


def scheduler_said(evidence: Evidence) -> Finding | None:
    """The batch scheduler wrote into the output why it cancels the job."""
    if evidence.state == "completed":
        return None
    for line in reversed(output.last_lines(evidence.output, 50)):
        for words, cause in _SCHEDULER_LINES.items():
            if "CANCELLED" in line and words in line:
                text = f"The scheduler ended the job: {phrases.shorten(line)}"
                advice = ("Ask for more time, or submit the same command again.",)
                return Finding(cause, 0.99, text, (EvidenceItem("output", line),), advice)
    return None


def _is_timeout(command: list[str]) -> bool:
    return bool(command) and PurePath(command[0]).name == "timeout"
