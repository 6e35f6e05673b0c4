"""Why two runs may differ: pure rules over what a comparison found.

A rule reads the comparison and gives a reason or None.  Rules that point at
one place come before those that only narrow the search.
"""

from __future__ import annotations

from collections.abc import Callable

from pitstop.comparison.difference import Comparison, Reason
from pitstop.comparison.facts import POSITION, RANDOM
from pitstop.events import EnvironmentChanged

_LAST_BITS_ULPS = 64
"""Losses this close, counted in float32, differ by rounding: by the order of a sum."""

_MOST_CHARACTERS = 60

_SET_SEEDS = (
    "Call keras.utils.set_random_seed(N) before anything is built or shuffled, and give your"
    " own generators a seed."
)
_OWN_STATE = (
    "Look for random numbers and counters of the script's own: generators made at import,"
    " attributes of the data set, variables outside of the model."
)
_ORDER_ADVICE = (
    "Give every shuffle a seed, draw the numbers of an augmentation from a seeded generator,"
    " and read with one worker or in a fixed order."
)


def likely_reasons(found: Comparison) -> tuple[Reason, ...]:
    """The reasons that fit, the likeliest first; none when the runs are the same."""
    if found.same and not found.disagreements:
        return ()
    return tuple(reason for rule in RULES if (reason := rule(found)) is not None)


def computed_twice_differently(found: Comparison) -> Reason | None:
    side = next((side for side in (found.a, found.b) if side.disagreements), None)
    if side is None:
        return None
    return Reason(
        "not_reproducible_by_itself",
        f"{side.name} computed step {side.disagreements[0].step} twice, before and after it was"
        " interrupted, with different results: either the script gives other results each time"
        " (unseeded augmentation, several reader threads, ops whose sums have no fixed order),"
        " or a resume does not restore all of its state.",
        "Run it twice without interruption and compare the two: `pitstop drill` does this.",
    )


def environments_differ(found: Comparison) -> Reason | None:
    between = [_change_text(each) for each in found.environment if each.changes_bits]
    within = [
        f"{_change_text(each)} between the attempts of {side.name}"
        for side in (found.a, found.b)
        for each in side.environment_changes
        if each.changes_bits
    ]
    if not between + within:
        return None
    return Reason(
        "environment",
        f"The environments differ: {'; '.join(between + within)}.",
        "Repeat the run with the same versions, CPU type, number of CPUs and variables.",
    )


def differs_after_a_resume(found: Comparison) -> Reason | None:
    step = found.step
    if step is None:
        return None
    pairs = [(side, resume) for side in (found.a, found.b) for resume in side.resumes]
    hits = [pair for pair in pairs if step.agreed_step <= pair[1].step < step.step]
    if not hits:
        return None
    side, resume = hits[0]
    announced = f", announced as not exact ({resume.reason})" * (resume.level == "not_exact")
    return Reason(
        "not_restored",
        f"It is the first step after {side.name} was resumed at step {resume.step}{announced}:"
        " the training depends on something that a resume does not restore.",
        _OWN_STATE,
    )


def differs_later_after_a_resume(found: Comparison) -> Reason | None:
    step = found.step
    if step is None or differs_after_a_resume(found):
        return None
    pairs = [(side, resume) for side in (found.a, found.b) for resume in side.resumes]
    before = [pair for pair in pairs if pair[1].step < step.step]
    if not before:
        return None
    side, resume = max(before, key=lambda pair: pair[1].step)
    return Reason(
        "not_restored_later",
        f"{side.name} was resumed at step {resume.step}, {step.step - resume.step} steps before;"
        " where two uninterrupted runs agree, something that a resume does not restore shows"
        " only later.",
        _OWN_STATE,
    )


def differs_in_the_last_bits(found: Comparison) -> Reason | None:
    ulps = found.step.ulps if found.step and found.step.loss_differs else None
    if ulps is None or ulps.format != "float32" or ulps.count > _LAST_BITS_ULPS:
        return None
    return Reason(
        "order_of_sums",
        f"The losses part by rounding only ({ulps.count} float32 ULP): a sum was made in another"
        " order, by another number of threads or by an op that fixes none.",
        "Call tf.config.experimental.enable_op_determinism(), and keep the number of threads.",
    )


def differs_from_the_start(found: Comparison) -> Reason | None:
    if not (found.step and found.step.first_of_run) or differs_in_the_last_bits(found):
        return None
    return Reason(
        "seeds_not_set",
        "The runs differ from the first step on: they began with other weights or other"
        " batches, so seeds are not set or not the same.",
        _SET_SEEDS,
    )


def differs_at_an_epoch(found: Comparison) -> Reason | None:
    step = found.step
    if step is None or step.first_of_run or not step.first_of_epoch:
        return None
    return Reason(
        "epoch_order",
        f"The runs part at the first step of epoch {step.epoch + 1}: what happens between"
        " epochs differs (the next shuffle, a callback, validation).",
        _ORDER_ADVICE,
    )


def batches_differ(found: Comparison) -> Reason | None:
    """The state before the first difference agrees: what came next was another batch."""
    step = found.step
    if step is None or step.first_of_run:
        return None
    before = [each for each in found.agreeing_checkpoints if each < step.step]
    if not before:
        return None
    return Reason(
        "input_order",
        f"All variables agree at step {before[-1]}; between there and step {step.step} the"
        " runs got other batches, or drew other random numbers.",
        _ORDER_ADVICE,
    )


def only_what_is_reported_differs(found: Comparison) -> Reason | None:
    """The variables agree at a later step all the same."""
    step = found.step
    if step is None or not any(each >= step.step for each in found.agreeing_checkpoints):
        return None
    return Reason(
        "metrics_only",
        "The variables agree later on all the same: the training is the same, and only what it"
        " reports differs.",
        "Look at metrics and losses with a state of their own, and at sample weights.",
    )


def weights_differ_alone(found: Comparison) -> Reason | None:
    """Every step agrees, and the variables do not."""
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or not checkpoint.tensors:
        return None
    return Reason(
        "changed_outside_of_steps",
        f"Every step agrees, the variables saved at step {checkpoint.place.step} do not: they"
        " were changed outside of the steps (a callback, an average of weights), or by the last"
        " update, whose loss nobody saw.",
        "Look at callbacks that assign weights.",
    )


def only_state_differs(found: Comparison) -> Reason | None:
    """What was trained agrees, and the next steps would not."""
    checkpoint = found.checkpoint
    if found.step or checkpoint is None or checkpoint.tensors or not checkpoint.decisive:
        return None
    random = [name for name in checkpoint.facts if name in RANDOM]
    position = [name for name in checkpoint.facts if name in POSITION]
    return Reason(
        "random_or_input_state",
        f"What was trained agrees; {', '.join(random + position)} at step"
        f" {checkpoint.place.step} does not: a callback or the script drew random numbers, or"
        " passed over the input, beside the training.",
        _SET_SEEDS,
    )


def lengths_differ(found: Comparison) -> Reason | None:
    if not found.lengths_differ:
        return None
    return Reason(
        "length",
        f"{found.a.name} was trained for {found.a.last_step} steps, {found.b.name} for"
        f" {found.b.last_step}.",
        "Compare the settings of `fit` and what the callbacks that stop it watch.",
    )


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
