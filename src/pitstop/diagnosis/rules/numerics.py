"""Losses that are no numbers any more."""

from __future__ import annotations

import math
import re

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.rules.quiet_ends import TERMINATE_ON_NAN
from pitstop.events import EpochEnded, FitStarted, NonFiniteLoss, StopTrainingSet

NAN_MESSAGE = re.compile(r"NaN or Inf loss encountered|Tensor had (?:NaN|Inf)|CheckNumerics")
"""Exceptions of Keras (TerminateOnNaN) and TensorFlow (check_numerics) about NaN."""

_PRINTED = re.compile(r"^.*(?:Batch \d+: Invalid loss, terminating training).*$", re.MULTILINE)
_LOSS_NAN = re.compile(r"\bloss: nan\b")
_GROWN_LOSS = 1e4
_CONFIDENCE = 0.96
_CONFIDENCE_OF_REMARK = 0.35
"""Something else ended the run."""


def nan_loss(evidence: Evidence) -> Finding | None:
    """The loss became NaN or infinite, whether or not that ended the run."""
    seen = _seen(evidence)
    if not seen:
        return None
    end = _how_it_ended(evidence)
    confidence = _CONFIDENCE if end else _CONFIDENCE_OF_REMARK
    advice = (*_checkpoint_advice(evidence), *_advice(evidence.first(NonFiniteLoss)))
    text = f"{_headline(evidence)}{end or '; nothing shows that this ended the run'}."
    return Finding("nan_loss", confidence, text, seen, advice)


def _seen(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    items = []
    bad = evidence.first(NonFiniteLoss)
    if bad:
        at = phrases.place(bad.step, bad.epoch, bad.step_in_epoch)
        items.append(EvidenceItem("journal", f"{bad.metric} is {bad.value} at {at}"))
    if bad and bad.last_finite is not None:
        text = f"its last finite value was {phrases.number(bad.last_finite)}"
        items.append(EvidenceItem("journal", text))
    items += [EvidenceItem("journal", text) for text in _bad_epochs(evidence)[:1] if not bad]
    raised = evidence.raised
    if raised and NAN_MESSAGE.search(raised.message):
        text = f"{raised.name}: {phrases.shorten(raised.message)}"
        items.append(EvidenceItem("exception", text))
    items += _printed(evidence)
    return tuple(items)


def _printed(evidence: Evidence) -> list[EvidenceItem]:
    line = _PRINTED.search(evidence.output)
    if line:
        return [EvidenceItem("output", line[0].strip())]
    is_bare_log = evidence.last(FitStarted) is None
    lines = [text for text in evidence.output.splitlines() if _LOSS_NAN.search(text)]
    return [EvidenceItem("output", phrases.shorten(lines[0]))] if lines and is_bare_log else []


def _bad_epochs(evidence: Evidence) -> list[str]:
    return [
        f"{name} is {value} at the end of epoch {event.epoch + 1}"
        for event in evidence.all(EpochEnded)
        for name, value in event.logs.items()
        if "loss" in name and not math.isfinite(value)
    ]


def _headline(evidence: Evidence) -> str:
    bad = evidence.first(NonFiniteLoss)
    if bad:
        at = phrases.place(bad.step, bad.epoch, bad.step_in_epoch)
        return f"The {bad.metric} became {bad.value} at {at}"
    epochs = _bad_epochs(evidence)
    return f"{epochs[0]}" if epochs else "The loss became NaN or infinite"


def _how_it_ended(evidence: Evidence) -> str:
    """How the bad loss ended the run; empty when something else did."""
    raised, stop = evidence.raised, evidence.last(StopTrainingSet)
    if raised and NAN_MESSAGE.search(raised.message):
        return " and the script raised an error about it"
    if (stop and stop.callback == TERMINATE_ON_NAN) or _PRINTED.search(evidence.output):
        return " and TerminateOnNaN ended the training"
    if evidence.state == "completed":
        return "; the training ran on to its end and is useless since then"
    return ""


def _checkpoint_advice(evidence: Evidence) -> tuple[str, ...]:
    bad, saved = evidence.first(NonFiniteLoss), evidence.checkpoint_step
    if bad is None or saved is None or saved < bad.step:
        return ()
    return (
        (
            f"The checkpoint of step {saved:,} was taken after the loss went bad: after the fix "
            "start over with a new --run-dir."
        ),
    )


def _advice(bad: NonFiniteLoss | None) -> tuple[str, ...]:
    rate = "Lower the learning rate, or clip gradients: the optimizer's `clipnorm=1.0`."
    data = "Look for NaN, empty or huge values in the batch of that step."
    after = "Resuming alone repeats it: a resumed run computes the same numbers."
    has_grown = bad is not None and bad.last_finite is not None and bad.last_finite > _GROWN_LOSS
    return (rate, data, after) if has_grown else (data, rate, after)
