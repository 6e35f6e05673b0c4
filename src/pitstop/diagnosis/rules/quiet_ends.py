"""Ends without an error: callbacks that stop a fit, inputs that run out, early exits."""

import math
import re

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.wording import ADVICE, tell

TERMINATE_ON_NAN = "TerminateOnNaN"
"""The callback of Keras whose stop is about the loss, not about progress."""

_EARLY_STOPPING_LINE = re.compile(r"^Epoch (?P<epoch>\d+): early stopping$", re.MULTILINE)
_RAN_OUT = re.compile(r"^.*[Yy]our input ran out of data.*$", re.MULTILINE)
_NEEDED = re.compile(r"in this case, (?P<batches>\d+) batches")
_BLOWN_UP_FACTOR = 2.0
_REMARK = 0.3
_OF_SIGNALS = 0.8
# PreemptionCheckpointHandler leaves with `exit_fn`: code 42, 143 on Google Cloud, or the user's.
_PREEMPTION_MODULES = "tensorflow.python.distribute.failure_handling"


def callback_stop(evidence: Evidence) -> Finding | None:
    stop, ended = evidence.last(events.StopTrainingSet), evidence.last(events.FitEnded)
    if stop is None or stop.callback == TERMINATE_ON_NAN:
        return None
    where = phrases.source_line(stop.file, stop.line, stop.function)
    who = stop.callback or f"the code at {where}"
    epochs = ended.epochs if ended else None
    watched = _watched(evidence, stop)
    text = f"stop_training was set at step {stop.step:,} by {who} ({where})"
    seen = [EvidenceItem("journal", text)]
    if stop.watched:
        pairs = (f"{name}={phrases.number(value)}" for name, value in stop.watched.items())
        seen.append(EvidenceItem("journal", f"{stop.callback}: {', '.join(pairs)}"))
    is_last_epoch = epochs is not None and stop.epoch + 1 >= epochs
    is_end = evidence.state == "completed" and not is_last_epoch
    return tell(
        "callback_stop",
        seen,
        confidence=None if is_end else _REMARK,
        advice=_stop_advice(stop, where),
        who=who,
        epoch=stop.epoch + 1,
        of=f" of {epochs}" if epochs else "",
        watched=f": {watched}" if watched else ".",
    )


def _watched(evidence: Evidence, stop: events.StopTrainingSet) -> str:
    monitor, best = str(stop.watched.get("monitor") or ""), stop.watched.get("best")
    if not monitor or not isinstance(best, int | float):
        return ""
    patience = stop.watched.get("patience", "?")
    text = f"{monitor} did not improve on {phrases.number(float(best))} for {patience} epochs"
    values = [
        each.logs[monitor] for each in evidence.all(events.EpochEnded) if monitor in each.logs
    ]
    if not values:
        return f"{text}."
    last = values[-1]
    if "loss" in monitor and (not math.isfinite(last) or last > _BLOWN_UP_FACTOR * abs(best)):
        return f"{text}; it did not level off but exploded to {phrases.number(last)}."
    return f"{text}; its last value is {phrases.number(last)}."


def _stop_advice(stop: events.StopTrainingSet, where: str) -> tuple[str, ...]:
    if stop.callback == "EarlyStopping":
        patience = stop.watched.get("patience")
        more = patience * 2 if isinstance(patience, int) and patience else 5
        call = f"EarlyStopping(patience={more})"
        text = f"If this was too early: {call}, or a larger start_from_epoch."
        return text, ADVICE["best_weights"]
    return (f"If this was not intended, check {where}.",)


def early_stopping_printed(evidence: Evidence) -> Finding | None:
    line = evidence.printed(_EARLY_STOPPING_LINE)
    if line is None or evidence.last(events.FitStarted) or evidence.exit_code or evidence.signal:
        return None
    seen = (EvidenceItem("output", line[0]),)
    return tell("early_stopping_printed", seen, epoch=line["epoch"])


def dataset_exhausted(evidence: Evidence) -> Finding | None:
    """Fewer batches than `steps_per_epoch`: Keras 3 goes on, Keras 2 ends the fit."""
    printed = _RAN_OUT.search(evidence.output)
    epochs = _short_epochs(evidence)
    is_telling = bool(epochs) or (printed is not None and bool(_NEEDED.search(printed[0])))
    started = evidence.last(events.FitStarted)
    # Keras 3 warns of inputs that end as they should, where it had to guess their length.
    is_guess = started is not None and started.steps_per_epoch is None
    if not is_telling and (printed is None or is_guess):
        return None
    is_end = evidence.state in ("completed", "unknown")
    lines = (EvidenceItem("output", printed[0].strip()),) if printed else ()
    told = tuple(EvidenceItem("journal", _short_words(epoch)) for epoch in epochs[:3])
    return tell(
        "dataset_exhausted",
        (*told, *lines),
        confidence=None if is_end and is_telling else 0.35,
        advice=_exhausted_advice(evidence, epochs, printed[0] if printed else ""),
        details=_exhausted_details(evidence, epochs),
    )


ShortEpoch = events.InputExhausted | events.EpochEnded


def _short_epochs(evidence: Evidence) -> list[ShortEpoch]:
    exhausted: list[ShortEpoch] = list(evidence.all(events.InputExhausted))
    cut = {event.epoch for event in evidence.all(events.StopTrainingSet)}
    cut |= {event.epoch for event in evidence.all(events.Restored)}  # began in another attempt
    ended: list[ShortEpoch] = [
        event
        for event in evidence.all(events.EpochEnded)
        if event.steps < (event.expected_steps or 1) and event.epoch not in cut
    ]
    return exhausted or ended


def _short_words(short: ShortEpoch) -> str:
    steps, expected = short.steps, short.expected_steps or 1
    had = f"only {steps} of {expected} steps" if steps else "no step"
    return f"epoch {short.epoch + 1} had {had}"


def _exhausted_details(evidence: Evidence, epochs: list[ShortEpoch]) -> str:
    started, fits = evidence.last(events.FitStarted), evidence.all(events.FitEnded)
    which = _short_words(epochs[0]) if epochs else ""
    # The script may train more than once.
    of_it = [each for each in fits if not epochs or each.fit == epochs[0].fit]
    ended = of_it[-1] if of_it else None
    end = ""
    if ended and ended.epochs_run < ended.epochs:
        end = f"fit ended after {ended.epochs_run} of {ended.epochs} epochs"
    elif ended and epochs and epochs[0].epoch + 1 < ended.epochs:
        end = f"fit continued silently to the end of {ended.epochs} epochs"
    elif not epochs and started and started.steps_per_epoch:
        end = "the validation data has fewer batches than `validation_steps`"
    details = "; ".join(part for part in (which, end) if part)
    return f": {details}" if details else ""


def _exhausted_advice(
    evidence: Evidence, epochs: list[ShortEpoch], printed: str
) -> tuple[str, ...]:
    needed = _NEEDED.search(printed)
    if epochs and not any(each.steps for each in epochs):
        return (ADVICE["empty_input"],)
    if epochs:
        mismatch = _mismatch(evidence, epochs[0])
    else:
        mismatch = f"The fit needs {needed['batches']} batches: " if needed else ""
    fix = "add .repeat() to the dataset or drop steps_per_epoch."
    return f"{mismatch}{fix}" if mismatch else fix.capitalize(), ADVICE["generator_ends_once"]


def _mismatch(evidence: Evidence, short: ShortEpoch) -> str:
    epoch, steps, expected = short.epoch, short.steps, short.expected_steps or 1
    before = {
        event.epoch: event.steps
        for event in evidence.all(events.EpochEnded)
        if event.epoch < epoch and event.fit == short.fit
    }
    if not epoch:
        return f"steps_per_epoch={expected}, but the dataset has {steps} batches: "
    if len(before) < epoch:
        return f"Epoch {epoch + 1} found {steps} batches instead of {expected}: "
    held = sum(before.values()) + steps
    return (
        f"The dataset has {held} batches, but {epoch + 1} epochs of steps_per_epoch={expected} "
        f"need {expected * (epoch + 1)}: "
    )


def left_during_fit(evidence: Evidence) -> Finding | None:
    fit = evidence.open_fit
    if fit is None or evidence.exit_code != 0 or evidence.stop:
        return None
    call = _exit_call(evidence) or _raised_exit(evidence)
    if call is None:
        return None  # nothing says that it failed: see `endings.completed_normally`
    seen = (
        _call_item(call),
        EvidenceItem("exit status", "exit code 0"),
        EvidenceItem("journal", f"fit {fit.fit} began ({fit.epochs} epochs) and never returned"),
    )
    names = {"": "left_during_fit", "KeyboardInterrupt": "interrupt_caught"}
    name = names.get(call.handling, "caught_and_left")
    words, place = _call_words(call), _call_place(call)
    at, caught = evidence.at_step, call.handling
    return tell(name, seen, at=at, call=words, place=place, caught=caught)


def _raised_exit(evidence: Evidence) -> events.ExitCalled | None:
    """An exit that was no call of `sys.exit`, or an interrupt that was caught, in the last fit."""
    left, last = evidence.last(events.FitLeft), evidence.last(events.FitStarted)
    if left is None or last is None or left.fit != last.fit or evidence.last(events.ExitCalled):
        return None
    place = (left.file, left.line, left.function)
    if left.class_name == "KeyboardInterrupt":
        return events.ExitCalled("raised", "0", *place, handling=left.class_name)
    is_exit = left.class_name == "SystemExit"
    return events.ExitCalled(left.class_name, "0", *place) if is_exit else None


def exit_called(evidence: Evidence) -> Finding | None:
    call = _exit_call(evidence)
    if call is None or evidence.exit_code == 0 or evidence.raised or evidence.stop:
        return None
    is_said = not _is_number(call.code) and call.how not in events.SIGNALLING
    words = f' with the message "{phrases.shorten(call.code, 120)}"' if is_said else ""
    code = evidence.signal or f"exit code {evidence.exit_code}"
    of_tensorflow, is_kill = call.module.startswith(_PREEMPTION_MODULES), code == "SIGKILL"
    return tell(
        "preemption_handler" if of_tensorflow else "exit_called",
        (_call_item(call), EvidenceItem("exit status", code)),
        # A signal looks like a crash or a request: that finding comes first.
        confidence=_OF_SIGNALS if call.how in events.SIGNALLING and not is_kill else None,
        code=code,
        call=_call_words(call),
        words=words,
        place=_call_place(call),
    )


def _exit_call(evidence: Evidence) -> events.ExitCalled | None:
    call, ended = evidence.last(events.ExitCalled), evidence.exit
    if call is None or ended is None:
        return None
    if call.how in ("os.abort", *events.SIGNALLING):
        is_abort = call.how == "os.abort" and evidence.signal == "SIGABRT"
        return call if is_abort or evidence.signalled_itself else None
    code = call.code if _is_number(call.code) else "1"
    return call if ended.exit_code is not None and int(code) % 256 == ended.exit_code else None


def _is_number(code: str) -> bool:
    return code.removeprefix("-").isdecimal()


def _call_place(call: events.ExitCalled) -> str:
    return phrases.source_line(call.file, call.line, call.function)


def _call_words(call: events.ExitCalled) -> str:
    callback = f"callback {call.callback} called " if call.callback else ""
    return f"{callback}{call.how} at {_call_place(call)}"


def _call_item(call: events.ExitCalled) -> EvidenceItem:
    return EvidenceItem("journal", f"{_call_words(call)}: {call.code}")
