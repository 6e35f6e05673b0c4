"""Ends that somebody or something asked for, and the natural end."""

import re
from itertools import pairwise
from pathlib import PurePath

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.diagnosis.log.lines import last_lines
from pitstop.diagnosis.rules import schedulers
from pitstop.diagnosis.signatures.signals import SIGNALS
from pitstop.diagnosis.signatures.tables import remedies
from pitstop.diagnosis.wording import ADVICE, tell
from pitstop.events import StopRequested
from pitstop.record import Frozen

_TIMEOUT_EXIT_CODE = 124  # what timeout(1) of the GNU coreutils returns when the time is up

_TAKE_VALUES = ("-k", "--kill-after", "-s", "--signal")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")

_SCHEDULER_LINES: dict[str, CauseId] = {
    "DUE TO TIME LIMIT": "time_limit",
    "DUE TO PREEMPTION": "preempted_or_terminated",
}
"""Words of slurmstepd, which says why it cancels a job in the job's own output."""

_OWN_SOURCES = {
    "command": "`pitstop stop`",
    "cluster": "another member of the cluster",
    "setting": "--halt-at-step",
    "condition": "the condition of --stop-when",
    "file": "the file `stop` in the run folder",
    "script": "`pitstop.request_stop` in the script",
}

_BY_LAUNCH = ("member_dismissed", "member_over")  # of `pitstop.launch.member_process`
_DIVERGED_FACTOR = 10.0
_FEW_EPOCHS = 2
_UNCHANGED_SHARE = 1e-5
_REMARK = 0.45
_EARLY = ", before the first step."
_SLURM_SENDER = "slurmstepd"
_WHAT = {"time_limit": "the time limit", "preemption": "the cloud", "pressure": "--on-pressure"}


def completed_normally(evidence: Evidence) -> Finding | None:
    if evidence.state != "completed":
        return None
    if evidence.open_fit:
        return _completed_all_the_same(evidence)
    ended_well = EvidenceItem("journal", "the attempt ended as completed")
    exit_status = EvidenceItem("exit status", "exit code 0") if evidence.exit else ended_well
    started, ended = evidence.last(events.FitStarted), evidence.last(events.FitEnded)
    restored = evidence.last(events.FitRestored)
    if restored is not None and ended is None:
        return tell("fit_restored", [exit_status], steps=phrases.steps(restored.step))
    if started is None or ended is None:
        return tell("ended_without_fit", [exit_status])
    steps = phrases.steps(ended.step)
    if started.is_loop:
        loop = EvidenceItem("journal", f"the script's loop ended after {steps}")
        return tell("loop_ended", (exit_status, loop), steps=steps)
    own = [each for each in evidence.all(events.EpochEnded) if each.fit == ended.fit]
    # A resumed fit runs fewer epochs itself than the training has.
    epochs = max(ended.epochs_run, *(each.epoch + 1 for each in own), 0)
    fits = EvidenceItem("journal", f"model.fit returned after {epochs} of {ended.epochs} epochs")
    unsaved, advice = _unsaved(evidence, ended.step)
    losses = [each.logs["loss"] for each in own if "loss" in each.logs]
    doubt, remedy = _doubt(losses)
    level = evidence.last(events.LevelKnown)
    # By an option of the user, such as `--on-nan rollback`.
    altered = level.reason if level and level.reason.startswith("--on-") else ""
    results = (EvidenceItem("results", altered),) if altered else ()
    return tell(
        "fit_ended",
        (exit_status, fits, *results, *evidence.failed_threads),
        confidence=0.97 if epochs >= ended.epochs else 0.6,
        advice=(*advice, *remedy),
        epochs=epochs,
        of=ended.epochs,
        steps=steps,
        unsaved=f"{unsaved}{doubt}",
    )


def _doubt(losses: list[float]) -> tuple[str, tuple[str, ...]]:
    """What is odd about the losses of the epochs, and advice; empty if nothing is."""
    first, last = (losses[0], losses[-1]) if losses else (0.0, 0.0)
    if 0 < first * _DIVERGED_FACTOR <= last:
        grew = f", but the loss grew from {phrases.number(first)} to {phrases.number(last)}"
        return grew, (ADVICE["lower_learning_rate"],)
    if len(losses) > _FEW_EPOCHS and max(losses) - min(losses) <= abs(first) * _UNCHANGED_SHARE:
        stayed = f", but the loss was {phrases.number(first)} in each of them"
        return stayed, (ADVICE["look_at_unchanged"],)
    return "", ()


def _completed_all_the_same(evidence: Evidence) -> Finding | None:
    """Exit code 0 though a `fit` never returned: its exception was caught, or the script left."""
    fit = evidence.open_fit
    if fit is None or evidence.last(events.ExitCalled):
        return None
    left = evidence.last(events.FitLeft)
    place = phrases.source_line(left.file, left.line, left.function) if left else ""
    caught = f"caught {left.class_name} of {place}" if left else "probably caught the exception"
    seen = (
        EvidenceItem("exit status", "exit code 0"),
        EvidenceItem("journal", f"fit {fit.fit} began ({fit.epochs} epochs) and never returned"),
    )
    in_order = evidence.last(events.ScriptEnded) is not None
    name = "fit_did_not_return" if in_order else "left_without_a_word"
    return tell(name, seen, at=evidence.at_step, caught=caught)


def _unsaved(evidence: Evidence, last_step: int) -> tuple[str, tuple[str, ...]]:
    refused, saved = evidence.last(events.CheckpointFailed), evidence.checkpoint_step or 0
    if refused is None or refused.step <= saved or saved >= last_step:
        return "", ()
    lost = phrases.steps(last_step - saved)
    text = f", but the last {lost} were not saved: {refused.error.rstrip('.')}"
    return text, (refused.remedy,) if refused.remedy else ()


def asked_to_stop(evidence: Evidence) -> Finding | None:
    stop = evidence.stop
    if stop is None or evidence.state == "completed":
        return None
    request = _of_launch(evidence) or _read_request(stop)
    described = EvidenceItem("journal", _describe(stop))
    seen = [described, *schedulers.job_items(evidence)]
    late = evidence.last(events.StopDeadlinePassed)
    if late and not evidence.last(events.TrainerStopped):
        waited = f"{late.waited_seconds:.0f} s in phase {late.phase}"
        seen.append(EvidenceItem("journal", f"ended by force after {waited}: {late.reason}"))
    confidence = 0.98 if evidence.state == "stopped" else 0.7
    if _had_failed(evidence, stop):
        confidence = _REMARK
    more = () if request.cause in _KNOWN_WELL else _ask_scheduler(evidence)
    advice = more or ((request.advice,) if request.advice else ())
    headline = _headline(evidence, request)
    if request.cause == "time_limit" and headline.endswith(_EARLY):
        printed = evidence.printed_exception
        seen += [EvidenceItem("output", printed.title)] if printed else []
        advice = (*(remedies(printed) if printed else ()), ADVICE["look_before_training"], *advice)
    return Finding(request.cause, confidence, headline, tuple(seen), advice)


def _had_failed(evidence: Evidence, stop: StopRequested) -> bool:
    """Whether an exception had left the script before the request, and its process did not end."""
    before = [entry.event for entry in evidence.entries]
    return any(isinstance(each, events.ExceptionRaised) for each in before[: before.index(stop)])


def stopped_by_somebody(evidence: Evidence) -> Finding | None:
    """The attempt stopped as if on request, but nothing shows who requested it."""
    by_nan = any(each.source == "nan" for each in evidence.all(StopRequested))
    by_others = evidence.last(events.MemberReleased) or evidence.last(events.GangBroken)
    if evidence.state != "stopped" or evidence.stop is not None or by_nan or by_others:
        return None
    where = evidence.last(events.TrainerStopped)
    at = f" after step {where.step:,}" if where else ""
    seen = (EvidenceItem("journal", "the attempt ended as stopped"),)
    return tell("asked_by_nobody_known", seen, at=at)


_KNOWN_WELL: frozenset[CauseId] = frozenset({"stop_requested", "user_interrupt", "time_limit"})


def _ask_scheduler(evidence: Evidence) -> tuple[str, ...]:
    job = evidence.last(events.JobSeen)
    command = schedulers.ask(job) if job else ""
    if job is None or not command:
        return ()
    return (f"{command} {'shows' if ' and ' not in command else 'show'} who ended the job.",)


class _Request(Frozen):
    cause: CauseId
    words: str
    advice: str = ""


def _of_launch(evidence: Evidence) -> _Request | None:
    """The stop by `pitstop launch`, if this member would have waited for one that had ended."""
    notice = evidence.last(events.Notice)
    if notice is None or notice.code not in _BY_LAUNCH:
        return None
    return _Request("worker_lost", f"{notice.message}, so the launch ended this one", notice.remedy)


def _read_request(stop: events.StopRequested) -> _Request:
    if stop.source in _OWN_SOURCES:
        who = _OWN_SOURCES[stop.source] + _reason(stop)
        return _Request("stop_requested", f"Stopped on request ({who})")
    if stop.source == "preemption":
        words = f"The cloud took the machine away{_reason(stop)}"
        return _Request("preempted_or_terminated", words, ADVICE["another_machine"])
    if stop.source == "pressure":
        words = f"Stopped by --on-pressure{_reason(stop)}"
        return _Request("stop_requested", words, ADVICE["under_pressure"])
    if stop.source == "time_limit":
        words = f"Stopped before the time limit{_reason(stop)}"
        return _Request("time_limit", words, ADVICE["more_time_or_pieces"])
    return _read_signal(stop)


def _read_signal(stop: events.StopRequested) -> _Request:
    sender = stop.sender_command.split()
    if _is_timeout(sender):
        pairs = pairwise(sender)
        own = (word for before, word in pairs if before not in _TAKE_VALUES)
        duration = next((word for word in own if _DURATION.fullmatch(word)), "")
        advice = f"If it made progress, give it more time than `timeout {duration}`."
        return _Request("time_limit", "The time limit of timeout(1) was reached", advice)
    is_free = stop.signal in ("SIGUSR1", "SIGUSR2")
    if is_free and stop.sender_command.startswith(_SLURM_SENDER):
        words = f"Slurm sent {stop.signal} before the end of the job, as --signal requests"
        return _Request("time_limit", words, ADVICE["ask_sacct"])
    if is_free:
        words = f"Pitstop was asked to stop by {stop.signal}{_sender(stop)}"
        return _Request("stop_requested", words)
    if stop.signal == "SIGINT" and stop.from_terminal:
        return _Request("user_interrupt", "Ctrl-C in the terminal")
    words = f"Pitstop was sent {stop.signal or 'a signal'}{_sender(stop)}"
    known = SIGNALS.get(stop.signal)
    if known is None or not known.asks_to_end:
        return _Request("preempted_or_terminated", words)
    is_known = (
        bool(stop.sender_command) and known.advice_when_sent == SIGNALS["SIGTERM"].advice_when_sent
    )
    return _Request(known.cause, words, "" if is_known else known.advice_when_sent)


def _reason(stop: events.StopRequested) -> str:
    return f": {phrases.shorten(stop.reason, 120)}" if stop.reason else ""


def _sender(stop: events.StopRequested) -> str:
    if stop.sender_command:
        first, second, *rest = (*stop.sender_command.split(" ", 2), "")
        command = " ".join([PurePath(first).name, PurePath(second).name, *rest]).rstrip()
        return f" by `{phrases.shorten(command, 60)}` (process {stop.sender_pid})"
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
        waited = f"{late.waited_seconds:.0f} s"
        return f"{request.words}; killed after {waited}: {late.reason}."
    if evidence.position and evidence.position.step:
        return f"{request.words}; the trainer ended at step {evidence.position.step:,}."
    role = evidence.last(events.RoleTaken)
    if role:
        return f"{request.words}; process {role.pid} {role.part}; its steps are not seen."
    if evidence.last(events.InstrumentationUnavailable):
        return f"{request.words}; Pitstop does not see the steps of the script."
    return f"{request.words}{_EARLY}"


def trainer_signalled(evidence: Evidence) -> Finding | None:
    sent = SIGNALS.get(evidence.signal)
    if sent is None or not sent.asks_to_end or sent.cause == "time_limit" or evidence.stop:
        return None
    seen = (evidence.ended_by_signal, *schedulers.job_items(evidence))
    if evidence.signalled_itself:
        text = f"The script sent {evidence.signal} to its own process."
        return Finding(sent.cause, 0.85, text, seen, (ADVICE["stop_from_script"],))
    text = f"Somebody sent {evidence.signal} to the training process itself, not to Pitstop."
    own = (sent.advice_when_sent,) if sent.advice_when_sent else ()
    advice = (ADVICE["signal_pitstop"], *(_ask_scheduler(evidence) or own))
    return Finding(sent.cause, 0.85, text, seen, advice, ("who sent the signal",))


def cpu_time_limit(evidence: Evidence) -> Finding | None:
    """The processor time limit (RLIMIT_CPU) ended the trainer; see setrlimit(2)."""
    limit = evidence.limit("cpu_seconds")
    hard, used = limit.get("hard"), evidence.exit.cpu_seconds if evidence.exit else None
    at_hard = evidence.signal == "SIGKILL" and hard and used and used >= hard - 1
    if evidence.signal != "SIGXCPU" and not at_hard:
        return None
    seconds = hard if at_hard else limit.get("soft")
    took = f"{used:.1f}" if used else "?"
    limits = EvidenceItem("limits", f"cpu_seconds: {phrases.limit(limit)}; used {took}")
    return tell(
        "cpu_time_limit",
        (evidence.ended_by_signal, limits),
        of=f" of {seconds} s" if seconds else "",
        used=f" after {used:.0f} s of processor time" if used else "",
    )


def timeout_wrapper(evidence: Evidence) -> Finding | None:
    started = evidence.last(events.AttemptStarted)
    if evidence.exit_code != _TIMEOUT_EXIT_CODE or not started or not _is_timeout(started.command):
        return None
    seen = (EvidenceItem("exit status", "exit code 124, as timeout returns at its limit"),)
    command = phrases.shorten(" ".join(started.command), 60)
    return tell("timeout_wrapper", seen, command=command)


def scheduler_said(evidence: Evidence) -> Finding | None:
    if evidence.state == "completed":
        return None
    for line in reversed(last_lines(evidence.output, 50)):
        for words, cause in _SCHEDULER_LINES.items():
            if "CANCELLED" in line and words in line:
                text = f"The scheduler ended the job: {phrases.shorten(line)}"
                advice = ("Ask for more time, or submit the same command again.",)
                return Finding(cause, 0.99, text, (EvidenceItem("output", line),), advice)
    return None


def _is_timeout(command: list[str]) -> bool:
    return bool(command) and PurePath(command[0]).name == "timeout"
