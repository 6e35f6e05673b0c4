"""Losses that became NaN or infinite."""

import math
import re

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.rules.quiet_ends import TERMINATE_ON_NAN
from pitstop.diagnosis.signatures.tables import classify
from pitstop.diagnosis.wording import ADVICE, tell
from pitstop.steps import has_grown

NAN_MESSAGE = re.compile(r"NaN or Inf loss encountered|Tensor had (?:NaN|Inf)|CheckNumerics")
"""Exceptions of Keras (TerminateOnNaN) and TensorFlow (check_numerics) about NaN."""

_PRINTED = re.compile(r"^.*(?:Batch \d+: Invalid loss, terminating training).*$", re.MULTILINE)
_LOSS_NAN = re.compile(r"\bloss: nan\b")
_ABOUT_NAN = re.compile(r"\bnan\b|(?:not |non-?|in)finite|infinit|diverg|explod", re.IGNORECASE)
_MOST_WEIGHTS = 3
_LOWER_RATE_FACTOR = 10
_CONFIDENCE_OF_REMARK = 0.35  # something else ended the run


def nan_loss(evidence: Evidence) -> Finding | None:
    seen = _seen(evidence)
    if not seen:
        return None
    end = _how_it_ended(evidence)
    bad, located = evidence.first(events.NonFiniteLoss), evidence.last(events.NonFiniteLocated)
    cure = _located_advice(located) if located else ()
    anew = ADVICE["start_over"].format(saved=evidence.checkpoint_step or 0)
    return tell(
        "nan_loss",
        seen,
        confidence=None if end else _CONFIDENCE_OF_REMARK,
        advice=(
            *((anew,) if evidence.is_spoiled else ()),
            *(cure or _advice(bad)),
            *_find(evidence),
        ),
        what=_headline(evidence),
        how=end or "; there is no sign that this ended the run",
        again=f"; run again, {phrases.bad_first(located.where, located.name)}" if located else "",
    )


def _seen(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    items = []
    bad = evidence.first(events.NonFiniteLoss)
    if bad:
        at = phrases.place(bad.step, bad.epoch, bad.step_in_epoch)
        items.append(EvidenceItem("journal", f"{bad.metric} is {bad.value} at {at}"))
    if bad and bad.last_finite is not None:
        text = f"its last finite value was {phrases.number(bad.last_finite)}"
        items.append(EvidenceItem("journal", text))
    items += [EvidenceItem("journal", text) for text in _trend(bad)]
    items += [EvidenceItem("journal", text) for text in _bad_epochs(evidence)[:1] if not bad]
    if weights := evidence.first(events.NonFiniteWeights):
        names = ", ".join(weights.names[:_MOST_WEIGHTS])
        items.append(EvidenceItem("checkpoint", f"not finite at step {weights.step:,}: {names}"))
    if located := evidence.last(events.NonFiniteLocated):
        text = f"step {located.step:,} again: {phrases.bad_first(located.where, located.name)}"
        items += [EvidenceItem("find-nan", each) for each in (text, *located.details)]
    raised = evidence.raised
    if raised and NAN_MESSAGE.search(raised.message):
        items.append(EvidenceItem("exception", raised.title))
    items += _printed(evidence)
    return tuple(items)


def _printed(evidence: Evidence) -> list[EvidenceItem]:
    line = evidence.printed(_PRINTED)
    if line:
        return [EvidenceItem("output", line[0].strip())]
    lines = [text for text in evidence.output.splitlines() if _LOSS_NAN.search(text)]
    progress = evidence.log.progress
    stayed = bool(progress) and progress[-1].is_nan
    is_unseen = evidence.last(events.FitStarted) is None
    return [EvidenceItem("output", phrases.shorten(lines[0]))] if stayed and is_unseen else []


def _bad_epochs(evidence: Evidence) -> list[str]:
    return [
        f"{name} is {value} at the end of epoch {event.epoch + 1}"
        for event in evidence.all(events.EpochEnded)
        for name, value in event.logs.items()
        if "loss" in name and not math.isfinite(value)
    ]


def _headline(evidence: Evidence) -> str:
    bad = evidence.first(events.NonFiniteLoss)
    if bad:
        at = phrases.place(bad.step, bad.epoch, bad.step_in_epoch)
        return f"The {bad.metric} became {bad.value} at {at}"
    if weights := evidence.first(events.NonFiniteWeights):
        since = f", but finite at step {weights.finite_step:,}" if weights.finite_step >= 0 else ""
        return f"Weights were NaN or infinite at step {weights.step:,}{since}"
    epochs = _bad_epochs(evidence)
    return f"{epochs[0]}" if epochs else "The loss became NaN or infinite"


def _how_it_ended(evidence: Evidence) -> str:
    if back := evidence.last(events.RolledBack):
        return f"; --on-nan rollback went back to step {back.to_step:,}"
    if refused := evidence.last(events.RollbackRefused):
        return f"; the run was not rolled back: {refused.reason}"
    raised, stop = evidence.raised, evidence.last(events.StopTrainingSet)
    if raised and (NAN_MESSAGE.search(raised.message) or _gave_up(evidence)):
        return " and the script raised an error because of it"
    if evidence.exit_code and evidence.last(events.ExitCalled) and _gave_up(evidence):
        return " and the script ended itself"
    if (stop and stop.callback == TERMINATE_ON_NAN) or evidence.printed(_PRINTED):
        return " and TerminateOnNaN ended the training"
    if evidence.state == "completed":
        return "; the training continued to its end but is useless since then"
    return ""


def _gave_up(evidence: Evidence) -> bool:
    bad, at, raised = evidence.first(events.NonFiniteLoss), evidence.position, evidence.raised
    known = classify(raised) if raised else None
    if bad is None or at is None or (known and known.cause != "nan_loss"):
        return False
    call = evidence.last(events.ExitCalled)
    said = raised.message if raised else (call.code if call else "")
    return at.step == bad.step or bool(_ABOUT_NAN.search(said))


def _trend(bad: events.NonFiniteLoss | None) -> list[str]:
    if bad is None or len(bad.recent) < 3:
        return []
    values = ", ".join(phrases.number(float(loss)) for loss in bad.recent)
    grown = has_grown(bad.recent, bad.last_finite)
    how = "it grew from step to step" if grown else "it became bad suddenly"
    texts = [f"{how}: {values}, then {bad.value}"]
    if bad.learning_rate is not None:
        texts.append(f"the learning rate was {phrases.number(bad.learning_rate)}")
    return texts


def _advice(bad: events.NonFiniteLoss | None) -> tuple[str, ...]:
    rate = "Lower the learning rate"
    if bad and bad.learning_rate:
        lower = phrases.number(bad.learning_rate / _LOWER_RATE_FACTOR)
        rate += f": {phrases.number(bad.learning_rate)} now, try {lower}"
    rate += ", or clip gradients: the optimizer's `clipnorm=1.0`."
    place = f"batch {bad.step_in_epoch} of epoch {bad.epoch + 1}" if bad else "the batch before"
    data, after = ADVICE["look_for_bad_values"].format(place=place), ADVICE["resuming_repeats"]
    grown = bad is not None and has_grown(bad.recent, bad.last_finite)
    return (rate, data, after) if grown else (data, rate, after)


def _find(evidence: Evidence) -> tuple[str, ...]:
    bad, weights = evidence.first(events.NonFiniteLoss), evidence.first(events.NonFiniteWeights)
    if not (bad or weights) or evidence.last(events.NonFiniteLocated):
        return ()
    if bad:
        text = ADVICE["find_nan"].format(step=bad.step)
    elif weights:
        first = max(weights.finite_step, 0) + 1
        text = ADVICE["find_nan_between"].format(first=first, last=weights.step)
    is_asked = evidence.last(events.RolledBack) or evidence.last(events.RollbackRefused)
    return (text,) if is_asked else (text, ADVICE["rollback"])


def _located_advice(located: events.NonFiniteLocated) -> tuple[str, ...]:
    cure = ADVICE.get(f"bad_{located.where}", "")
    name = f" ({located.name})" if located.name else ""
    return (f"{cure.rstrip('.')}{name}.",) if cure else ()
