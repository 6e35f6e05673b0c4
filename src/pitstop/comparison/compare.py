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
_WORDS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))


def _reason(reason_id: str, **values: object) -> Reason:
    words = _WORDS[reason_id]
    return Reason(reason_id, words["text"].format(**values), words["advice"])


def computed_twice_differently(found: Comparison) -> Reason | None:
    side = next((side for side in (found.a, found.b) if side.disagreements), None)
    if side is None:
        return None
    step = side.disagreements[0].step
    return _reason("not_reproducible_by_itself", name=side.name, step=step)


def environments_differ(found: Comparison) -> Reason | None:
    between = [_change_text(each) for each in found.environment if each.changes_bits]
    within = [
        f"{_change_text(each)} between the attempts of {side.name}"
        for side in (found.a, found.b)
        for each in side.environment_changes
        if each.changes_bits
    ]
    changes = "; ".join(between + within)
    return _reason("environment", changes=changes) if changes else None


def differs_after_a_resume(found: Comparison) -> Reason | None:
    agreed_step = found.step.agreed_step if found.step else 0
    hits = [pair for pair in _resumes_before(found) if agreed_step <= pair[1].step]
    if not hits:
        return None
    side, resume = hits[0]
    announced = f", reported as not exact ({resume.reason})" * (resume.level == "not_exact")
    return _reason("not_restored", name=side.name, step=resume.step, announced=announced)


def differs_later_after_a_resume(found: Comparison) -> Reason | None:
    before = list(_resumes_before(found))
    if found.step is None or not before or differs_after_a_resume(found):
        return None
    side, resume = max(before, key=lambda pair: pair[1].step)
    steps = found.step.step - resume.step
    return _reason("not_restored_later", name=side.name, step=resume.step, before=steps)


def _resumes_before(found: Comparison) -> Iterator[tuple[difference.ComparedSide, record.Resume]]:
    for side in (found.a, found.b):
        for resume in side.resumes:
            if found.step and resume.step < found.step.step:
                yield side, resume


def differs_in_the_last_bits(found: Comparison) -> Reason | None:
    ulps = found.step.ulps if found.step and found.step.loss_differs else None
    if ulps is None or ulps.format != "float32" or ulps.count > _LAST_BITS_ULPS:
        return None
    return _reason("order_of_sums", count=ulps.count)


def differs_from_the_start(found: Comparison) -> Reason | None:
    if not (found.step and found.step.first_of_run) or differs_in_the_last_bits(found):
        return None
    return _reason("seeds_not_set")


def differs_at_an_epoch(found: Comparison) -> Reason | None:
    step = found.step
    if step is None or step.first_of_run or not step.first_of_epoch:
        return None
    return _reason("epoch_order", epoch=step.epoch + 1)


def batches_differ(found: Comparison) -> Reason | None:
    """The state before the first difference agrees: what came next was another batch."""
    step = found.step
    if step is None or step.first_of_run:
        return None
    before = [each for each in found.agreeing_checkpoints if each < step.step]
    return _reason("input_order", agreed=before[-1], step=step.step) if before else None


def only_what_is_reported_differs(found: Comparison) -> Reason | None:
    step = found.step
    if step is None or not any(each >= step.step for each in found.agreeing_checkpoints):
        return None
    return _reason("metrics_only")


def weights_differ_alone(found: Comparison) -> Reason | None:
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or not checkpoint.tensors:
        return None
    return _reason("changed_outside_of_steps", step=checkpoint.place.step)


def only_state_differs(found: Comparison) -> Reason | None:
    """The trained variables agree, but the next steps would differ."""
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or checkpoint.tensors or not checkpoint.decisive:
        return None
    random = [name for name in checkpoint.facts if name in record.RANDOM]
    position = [name for name in checkpoint.facts if name in record.POSITION]
    names = ", ".join(random + position)
    return _reason("random_or_input_state", names=names, step=checkpoint.place.step)


def lengths_differ(found: Comparison) -> Reason | None:
    if not found.lengths_differ:
        return None
    a, b = found.a, found.b
    return _reason("length", a=a.name, b=b.name, steps_a=a.last_step, steps_b=b.last_step)


RULES: tuple[Callable[[Comparison], Reason | None], ...] = (
    computed_twice_differently,
    environments_differ,
    differs_after_a_resume,
    differs_in_the_last_bits,
    differs_from_the_start,
    differs_at_an_epoch,
    batches_differ,
    only_what_is_reported_differs,
    differs_later_after_a_resume,
    weights_differ_alone,
    only_state_differs,
    lengths_differ,
)


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
            one.place.step for one, other in pairs if not _differing_tensors(one, other)
        ),
        environment=(*commands, *fingerprint.compare(a.environment, b.environment)),
    )
    if found.same and not found.disagreements:
        return found
    return replace(found, reasons=tuple(filter(None, (rule(found) for rule in RULES))))


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
        loss_differs=not one.same_bits(replace(other, metrics=one.metrics)),
        ulps=difference.ulps_apart(one.loss, other.loss),
        agreed_step=agreed_step,
        first_of_epoch=before is None or (before.fit, before.epoch) != (one.fit, one.epoch),
        differing_steps=len(unequal),
    )


def _first_checkpoint_difference(
    pairs: list[tuple[Saved, Saved]], measure: Measure
) -> difference.CheckpointDifference | None:
    found = [_checkpoint_difference(one, other, measure) for one, other in pairs]
    unequal = [each for each in found if each.decisive or each.hints]
    decisive = [each for each in unequal if each.decisive]
    return next(iter(decisive or unequal), None)


def _checkpoint_difference(
    one: Saved, other: Saved, measure: Measure
) -> difference.CheckpointDifference:
    read_ahead = one.read_ahead or other.read_ahead
    names = record.differing(one.facts, other.facts)
    facts = tuple(name for name in names if record.is_decisive(name, read_ahead=read_ahead))
    return difference.CheckpointDifference(
        place=one.place,
        tensors=_tensor_differences(one, other, measure),
        facts=facts,
        hints=(*(name for name in names if name not in facts), *_discarded(one, other)),
    )


def _tensor_differences(one: Saved, other: Saved, measure: Measure) -> tuple[TensorDifference, ...]:
    unequal = {name: _kind(name, one, other) for name in _differing_tensors(one, other)}
    measured = [name for name in [*unequal][:MOST_MEASURED] if unequal[name] == "values"]
    return tuple(
        measure(name, one, other) if name in measured else TensorDifference(name, kind)
        for name, kind in unequal.items()
    )


def _differing_tensors(one: Saved, other: Saved) -> list[str]:
    names = sorted(one.tensors.keys() | other.tensors.keys())
    unequal = [name for name in names if _kind(name, one, other)]
    kinds = {_kind(name, one, other) for name in unequal}
    is_another = not one.tensors.keys() & other.tensors.keys()
    return unequal if is_another or not kinds <= set(_ALONE) else []


def _discarded(one: Saved, other: Saved) -> list[str]:
    """Variables that only one of the runs still held, if all others are equal."""
    names = [] if _differing_tensors(one, other) else one.tensors.keys() ^ other.tensors.keys()
    return [f"{name} (of a discarded model)" for name in sorted(names)]


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
