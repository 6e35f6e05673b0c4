"""Two runs side by side: where they differ, and why they may; only tensors are read from disk."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pitstop.comparison import difference, record
from pitstop.comparison.difference import Comparison, Reason, TensorDifference
from pitstop.comparison.record import RunRecord, Saved, Trace
from pitstop.events import EnvironmentChanged
from pitstop.supervisor.records import fingerprint

_LAST_BITS_ULPS = 64
"""Losses this close, counted in float32, differ by rounding: by the order of a sum."""

_MOST_CHARACTERS = 60
REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))


def _reason(reason_id: str, **values: object) -> Reason:
    words = REASONS[reason_id]
    return Reason(reason_id, words["text"].format(**values), words["advice"])


def _likely_reasons(found: Comparison) -> Iterator[Reason]:
    """Why the runs may differ, the most likely reason first."""
    repeated = next((side for side in (found.a, found.b) if side.disagreements), None)
    if repeated is not None:
        step = repeated.disagreements[0].step
        yield _reason("not_reproducible_by_itself", name=repeated.name, step=step)
    if changes := "; ".join(_environment_changes(found)):
        yield _reason("environment", changes=changes)
    if found.step is not None:
        yield from _of_a_step(found, found.step)
    elif found.checkpoint is not None:
        yield from _of_a_checkpoint(found.checkpoint)
    if found.lengths_differ:
        a, b = found.a, found.b
        yield _reason("length", a=a.name, b=b.name, steps_a=a.last_step, steps_b=b.last_step)


def _environment_changes(found: Comparison) -> Iterator[str]:
    yield from (_change_text(each) for each in found.environment if each.changes_bits)
    for side in (found.a, found.b):
        for each in side.environment_changes:
            if each.changes_bits:
                yield f"{_change_text(each)} between the attempts of {side.name}"


def _of_a_step(found: Comparison, step: difference.StepDifference) -> Iterator[Reason]:
    resumes = [
        (side, resume)
        for side in (found.a, found.b)
        for resume in side.resumes
        if resume.step < step.step
    ]
    right_after = [(side, resume) for side, resume in resumes if step.agreed_step <= resume.step]
    for side, resume in right_after[:1]:
        announced = f", reported as not exact ({resume.reason})" * (resume.level == "not_exact")
        yield _reason("not_restored", name=side.name, step=resume.step, announced=announced)
    yield from _of_its_place(step)
    agreeing = [each for each in found.agreeing_checkpoints if each < step.step]
    if agreeing and not step.first_of_run:
        # The state before the first difference agrees: what came next was another batch.
        yield _reason("input_order", agreed=agreeing[-1], step=step.step)
    if len(agreeing) < len(found.agreeing_checkpoints):
        yield _reason("metrics_only")
    if resumes and not right_after:
        side, resume = max(resumes, key=lambda pair: pair[1].step)
        before = step.step - resume.step
        yield _reason("not_restored_later", name=side.name, step=resume.step, before=before)


def _of_its_place(step: difference.StepDifference) -> Iterator[Reason]:
    ulps = step.ulps if step.loss_differs else None
    if ulps and ulps.format == "float32" and ulps.count <= _LAST_BITS_ULPS:
        yield _reason("order_of_sums", count=ulps.count)
    elif step.first_of_run:
        yield _reason("seeds_not_set")
    if step.first_of_epoch and not step.first_of_run:
        yield _reason("epoch_order", epoch=step.epoch + 1)


def _of_a_checkpoint(checkpoint: difference.CheckpointDifference) -> Iterator[Reason]:
    step = checkpoint.place.step
    if checkpoint.tensors:
        yield _reason("changed_outside_of_steps", step=step)
    elif checkpoint.decisive:
        # The trained variables agree, but the next steps would differ.
        names = [name for name in record.RANDOM + record.POSITION if name in checkpoint.facts]
        yield _reason("random_or_input_state", names=", ".join(names), step=step)


def _change_text(change: EnvironmentChanged) -> str:
    values = f"{change.before or 'unset'} / {change.now or 'unset'}"
    return f"{change.what} ({values})" if len(values) <= _MOST_CHARACTERS else change.what


MOST_MEASURED = 8  # tensors of the first differing checkpoint whose values are read and measured

_ALONE = ("only in A", "only in B")

Measure = Callable[[str, Saved, Saved], TensorDifference]


def compare_runs(a: RunRecord, b: RunRecord, measure: Measure = difference.measure) -> Comparison:
    pairs = [(a.saved[place], b.saved[place]) for place in a.saved if place in b.saved]
    pairs.sort(key=lambda pair: pair[0].place.step)
    before, now = _command(a), _command(b)
    changed = EnvironmentChanged(fingerprint.COMMAND, before, now, True)
    commands = [changed] if before != now else []
    found = Comparison(
        a=_side(a),
        b=_side(b),
        coverage=_coverage(a, b, pairs),
        step=first_step_difference(a.trace, b.trace),
        checkpoint=_first_checkpoint_difference(pairs, measure),
        agreeing_checkpoints=tuple(
            one.place.step for one, other in pairs if not _unequal_tensors(one, other)
        ),
        environment=(*commands, *fingerprint.compare(a.environment, b.environment)),
    )
    if found.same and not found.disagreements:
        return found
    return replace(found, reasons=tuple(_likely_reasons(found)))


def _command(run: RunRecord) -> str:
    words = run.environment.get("command")
    return " ".join(map(str, words)) if isinstance(words, list) else ""


def first_step_difference(a: Trace, b: Trace) -> difference.StepDifference | None:
    shared = [step for step in a.records if step in b.records]
    unequal = [step for step in shared if not a.records[step].same_bits(b.records[step])]
    if not unequal:
        return None
    step = unequal[0]
    one, other = a.records[step], b.records[step]
    agreed_step = max((each for each in shared if each < step), default=0)
    before = a.records.get(agreed_step)
    return difference.StepDifference(
        step=step,
        fit=one.fit,
        epoch=one.epoch,
        loss_a=one.loss,
        loss_b=other.loss,
        loss_differs=not one.same_bits(other._replace(metrics=one.metrics)),
        ulps=difference.ulps_apart(one.loss, other.loss),
        agreed_step=agreed_step,
        first_of_epoch=before is None or (before.fit, before.epoch) != (one.fit, one.epoch),
        differing_steps=len(unequal),
    )


def _first_checkpoint_difference(
    pairs: list[tuple[Saved, Saved]], measure: Measure
) -> difference.CheckpointDifference | None:
    with_hints = None
    for one, other in pairs:
        found = _checkpoint_difference(one, other, measure)
        if found.decisive:
            return found  # The tensors of those after it are not read.
        if found.hints and with_hints is None:
            with_hints = found
    return with_hints


def _checkpoint_difference(
    one: Saved, other: Saved, measure: Measure
) -> difference.CheckpointDifference:
    read_ahead = one.read_ahead or other.read_ahead
    names = record.differing(one.facts, other.facts)
    facts = tuple(name for name in names if record.is_decisive(name, read_ahead=read_ahead))
    unequal = _unequal_tensors(one, other)
    measured = [name for name in [*unequal][:MOST_MEASURED] if unequal[name] == "values"]
    # If all others are equal, the variables that only one of the runs still held.
    discarded = () if unequal else sorted(one.tensors.keys() ^ other.tensors.keys())
    return difference.CheckpointDifference(
        place=one.place,
        tensors=tuple(
            measure(name, one, other) if name in measured else TensorDifference(name, kind)
            for name, kind in unequal.items()
        ),
        facts=facts,
        hints=(
            *(name for name in names if name not in facts),
            *(f"{name} (of a discarded model)" for name in discarded),
        ),
    )


def _unequal_tensors(one: Saved, other: Saved) -> dict[str, str]:
    """In what they differ, by name; a variable that one side lacks counts only beside others."""
    names = sorted(one.tensors.keys() | other.tensors.keys())
    unequal = {name: kind for name in names if (kind := _kind(name, one, other))}
    is_another = not one.tensors.keys() & other.tensors.keys()
    return unequal if is_another or not set(unequal.values()) <= set(_ALONE) else {}


def _kind(name: str, one: Saved, other: Saved) -> str:
    before, after = one.tensors.get(name), other.tensors.get(name)
    if before is None or after is None:
        return _ALONE[0] if after is None else _ALONE[1]
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        return "dtype or shape"
    return "" if before.xxh3_64 == after.xxh3_64 else "values"


def _side(run: RunRecord) -> difference.ComparedSide:
    return difference.ComparedSide(
        name=run.name,
        completed=run.completed,
        last_step=run.trace.last_step,
        recomputed_steps=run.trace.recomputed_steps,
        disagreements=run.trace.disagreements,
        resumes=run.resumes,
        environment_changes=run.environment_changes,
    )


def _coverage(a: RunRecord, b: RunRecord, pairs: list[tuple[Saved, Saved]]) -> difference.Coverage:
    steps_a, steps_b = a.trace.records.keys(), b.trace.records.keys()
    return difference.Coverage(
        steps=len(steps_a & steps_b),
        only_a=len(steps_a - steps_b),
        only_b=len(steps_b - steps_a),
        checkpoints=tuple(one.place.step for one, _ in pairs),
        tensors=sum(len(one.tensors.keys() & other.tensors.keys()) for one, other in pairs),
        unreadable=a.unreadable + b.unreadable,
    )
