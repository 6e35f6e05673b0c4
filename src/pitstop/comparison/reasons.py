"""Why two runs may differ: pure rules over what a comparison found.

A rule reads the comparison and gives a reason or None.  Rules that point at
one place come before those that only narrow the search.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from pitstop.comparison.difference import ComparedSide, Comparison, Reason
from pitstop.comparison.facts import POSITION, RANDOM
from pitstop.comparison.record import Resume
from pitstop.events import EnvironmentChanged

_LAST_BITS_ULPS = 64
"""Losses this close, counted in float32, differ by rounding: by the order of a sum."""

_MOST_CHARACTERS = 60
_WORDS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))


def likely_reasons(found: Comparison) -> tuple[Reason, ...]:
    """The reasons that fit, the likeliest first; none when the runs are the same."""
    if found.same and not found.disagreements:
        return ()
    return tuple(reason for rule in RULES if (reason := rule(found)) is not None)


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


def _resumes_before(found: Comparison) -> Iterator[tuple[ComparedSide, Resume]]:
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
    """The variables agree at a later step all the same."""
    step = found.step
    if step is None or not any(each >= step.step for each in found.agreeing_checkpoints):
        return None
    return _reason("metrics_only")


def weights_differ_alone(found: Comparison) -> Reason | None:
    """Every step agrees, and the variables do not."""
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or not checkpoint.tensors:
        return None
    return _reason("changed_outside_of_steps", step=checkpoint.place.step)


def only_state_differs(found: Comparison) -> Reason | None:
    """What was trained agrees, and the next steps would not."""
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or checkpoint.tensors or not checkpoint.decisive:
        return None
    random = [name for name in checkpoint.facts if name in RANDOM]
    position = [name for name in checkpoint.facts if name in POSITION]
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
