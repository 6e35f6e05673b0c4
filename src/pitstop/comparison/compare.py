"""Two runs side by side.  Pure, but for the measure of tensors, which is passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pitstop.comparison.difference import (
    CheckpointDifference,
    ComparedSide,
    Comparison,
    Coverage,
    StepDifference,
    TensorDifference,
    ulps_apart,
)
from pitstop.comparison.facts import differing, is_decisive
from pitstop.comparison.reasons import likely_reasons
from pitstop.comparison.record import RunRecord, Saved, Trace
from pitstop.comparison.tensors import measure as measure_saved
from pitstop.events import EnvironmentChanged
from pitstop.steps import StepRecord
from pitstop.supervisor.records import fingerprint

MOST_MEASURED = 8
"""Tensors of the first differing checkpoint whose values are read and measured."""

_ALONE = ("only in A", "only in B")

Measure = Callable[[str, Saved, Saved], TensorDifference]


def compare_runs(a: RunRecord, b: RunRecord, measure: Measure = measure_saved) -> Comparison:
    """Where two runs, of a step at least each, differ first in steps and checkpoints, and why."""
    pairs = [(a.saved[place], b.saved[place]) for place in a.saved if place in b.saved]
    pairs.sort(key=lambda pair: pair[0].place.step)
    found = Comparison(
        a=_side(a),
        b=_side(b),
        coverage=_coverage(a, b, pairs),
        step=first_step_difference(a.trace, b.trace),
        checkpoint=_first_checkpoint_difference(pairs, measure),
        agreeing_checkpoints=tuple(
            one.place.step for one, other in pairs if not _differing_tensors(one, other)
        ),
        environment=(*_commands(a, b), *fingerprint.compare(a.environment, b.environment)),
    )
    return replace(found, reasons=likely_reasons(found))


def _commands(a: RunRecord, b: RunRecord) -> tuple[EnvironmentChanged, ...]:
    before, now = (_command(run) for run in (a, b))
    return (EnvironmentChanged(fingerprint.COMMAND, before, now, True),) if before != now else ()


def _command(run: RunRecord) -> str:
    words = run.environment.get("command")
    return " ".join(map(str, words)) if isinstance(words, list) else ""


def first_step_difference(a: Trace, b: Trace) -> StepDifference | None:
    """The first step that both recorded and that is not the same bits."""
    shared = [step for step in a.records if step in b.records]
    unequal = [step for step in shared if not a.records[step].same_bits(b.records[step])]
    if not unequal:
        return None
    step = unequal[0]
    one, other = a.records[step], b.records[step]
    agreed_step = max((each for each in shared if each < step), default=0)
    return StepDifference(
        step=step,
        fit=one.fit,
        epoch=one.epoch,
        loss_a=one.loss,
        loss_b=other.loss,
        loss_differs=not one.same_bits(replace(other, metrics=one.metrics)),
        ulps=ulps_apart(one.loss, other.loss),
        agreed_step=agreed_step,
        first_of_epoch=_begins_epoch(a.records.get(agreed_step), one),
        differing_steps=len(unequal),
    )


def _begins_epoch(before: StepRecord | None, record: StepRecord) -> bool:
    return before is None or (before.fit, before.epoch) != (record.fit, record.epoch)


def _first_checkpoint_difference(
    pairs: list[tuple[Saved, Saved]], measure: Measure
) -> CheckpointDifference | None:
    found = [_checkpoint_difference(one, other, measure) for one, other in pairs]
    unequal = [each for each in found if each.decisive or each.hints]
    decisive = [each for each in unequal if each.decisive]
    return next(iter(decisive or unequal), None)


def _checkpoint_difference(one: Saved, other: Saved, measure: Measure) -> CheckpointDifference:
    read_ahead = one.read_ahead or other.read_ahead
    names = differing(one.facts, other.facts)
    facts = tuple(name for name in names if is_decisive(name, read_ahead=read_ahead))
    return CheckpointDifference(
        place=one.place,
        tensors=_tensor_differences(one, other, measure),
        facts=facts,
        hints=(*(name for name in names if name not in facts), *_discarded(one, other)),
    )


def _tensor_differences(one: Saved, other: Saved, measure: Measure) -> tuple[TensorDifference, ...]:
    unequal = _differing_tensors(one, other)
    measured = [_describe(name, one, other, measure) for name in unequal[:MOST_MEASURED]]
    rest = [TensorDifference(name, _kind(name, one, other)) for name in unequal[MOST_MEASURED:]]
    return (*measured, *rest)


def _differing_tensors(one: Saved, other: Saved) -> list[str]:
    names = sorted(one.tensors.keys() | other.tensors.keys())
    unequal = [name for name in names if _kind(name, one, other)]
    return unequal if any(_kind(name, one, other) not in _ALONE for name in unequal) else []


def _discarded(one: Saved, other: Saved) -> list[str]:
    """Variables that one run still held and the other no longer, where all others are equal.

    When Python gives a discarded model's back is no part of a training.
    """
    names = [] if _differing_tensors(one, other) else one.tensors.keys() ^ other.tensors.keys()
    return [f"{name} (of a discarded model)" for name in sorted(names)]


def _kind(name: str, one: Saved, other: Saved) -> str:
    before, after = one.tensors.get(name), other.tensors.get(name)
    if before is None or after is None:
        return _ALONE[0] if after is None else _ALONE[1]
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        return "dtype or shape"
    return "" if before.xxh3_64 == after.xxh3_64 else "values"


def _describe(name: str, one: Saved, other: Saved, measure: Measure) -> TensorDifference:
    kind = _kind(name, one, other)
    return measure(name, one, other) if kind == "values" else TensorDifference(name, kind)


def _side(run: RunRecord) -> ComparedSide:
    return ComparedSide(
        name=run.name,
        completed=run.completed,
        last_step=run.trace.last_step,
        recomputed_steps=run.trace.recomputed_steps,
        disagreements=run.trace.disagreements,
        resumes=run.resumes,
        environment_changes=run.environment_changes,
    )


def _coverage(a: RunRecord, b: RunRecord, pairs: list[tuple[Saved, Saved]]) -> Coverage:
    steps_a, steps_b = a.trace.records.keys(), b.trace.records.keys()
    return Coverage(
        steps=len(steps_a & steps_b),
        only_a=len(steps_a - steps_b),
        only_b=len(steps_b - steps_a),
        checkpoints=tuple(one.place.step for one, _ in pairs),
        tensors=sum(len(one.tensors.keys() & other.tensors.keys()) for one, other in pairs),
        unreadable=a.unreadable + b.unreadable,
    )
