"""What happens to a training that begins: it is trained, goes on, or has ended before.  Pure."""

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pitstop.engine.trainings.identity import Difference, Identity, RestorePoint, differences
from pitstop.engine.trainings.matching import (
    EPOCHS,
    INITIAL_EPOCH,
    TrainingMatch,
    TrainingVerdict,
    is_changed,
)
from pitstop.engine.values.python_state import NOT_LITERAL
from pitstop.errors import ResumeRefused
from pitstop.record import Frozen

CALLBACKS = "callbacks"
FIXED = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "shuffle")
"""Settings that only the script has, and that shape what is saved."""

DOES_NOT_GO_ON = (
    "The interrupted training does not continue: the script runs a different one instead. Unless "
    "something that it reads was changed, it would not have done so without the interruption."
)
EDITED = (
    "The script was changed, including code that this training runs or values that it reads; the "
    "training so far used the old ones."
)
HELD_AGAINST_A_FILE = (
    "A file that the script reads was changed between the attempts, and the saved values are used "
    "instead of those that the script now has: {}."
)
HELD_BEFORE = (
    "An earlier training used the saved values instead of the script's changes ({}); the later "
    "ones use the script's."
)
ONE_OF_OTHERS = (
    "The other members continue from the saved state, but the {} of this one is not the saved "
    "one: {}."
)
NO_EVIDENCE = "there is no evidence that it is the same"
_ALL = "all"


class Course(Frozen):
    goes_on: bool
    held: tuple[Difference, ...] = ()
    taken: tuple[Difference, ...] = ()
    told: str = ""  # a sentence for the user, empty for none
    doubt: str = ""  # why the training is not exact, empty where it is
    refusal: ResumeRefused | None = None  # why the script is not to go on, None where it may
    extends: bool = False  # it has ended, and goes on after its last epoch


def decide(
    found: TrainingMatch,
    now: Identity,
    *,
    take: Collection[str],
    force: bool,
    files_edited: bool = False,
) -> Course:
    training = found.training
    if training is None:
        return Course(goes_on=False)
    found = replace(found, differences=_without_other_callbacks(found.differences))
    course = _course(found, training, now, take=take, force=force)
    if not course.goes_on or course.doubt:
        return course
    doubt = _doubt_of_edit(now, training.identity)
    if course.held and files_edited and not doubt:
        # Whoever edited them need not be the user.
        doubt = HELD_AGAINST_A_FILE.format(told(course.held))
    return replace(course, doubt=doubt)


def _without_other_callbacks(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """Without what callbacks hold that the script has added or removed."""
    listed = [each for each in found if each.name == CALLBACKS]
    others = {kind for each in listed for kind in _kinds(each.before) ^ _kinds(each.now)}
    return tuple(each for each in found if each.name.partition(".")[0] not in others)


def _kinds(listed: str) -> set[str]:
    return set(listed.split(", "))


def trained_as(now: Identity, before: Identity, held: Sequence[Difference]) -> Identity:
    """What is saved of a training that goes on: with a saved value it stays the one it was.

    Else the next attempt would find no difference, and use the script's value.
    """
    if not held:
        return now
    settings = {**now.settings, **{each.name: each.before for each in held}}
    return replace(now, settings=settings, program=before.program, command=before.command)


def _course(
    found: TrainingMatch,
    training: RestorePoint,
    now: Identity,
    *,
    take: Collection[str],
    force: bool,
) -> Course:
    if found.verdict is TrainingVerdict.SAME:
        return Course(goes_on=True)
    if found.verdict is TrainingVerdict.ANOTHER:
        # Doubted where the script goes on with what it saved itself: its History begins there.
        begins = [each for each in found.differences if each.name == INITIAL_EPOCH]
        is_resumed = begins and not training.finished
        doubt = f"The script resumed by itself: {told(begins)}." if is_resumed else ""
        return Course(goes_on=False, told=_told_another(found, training, now), doubt=doubt)
    if _has_passed(found, now, training.epoch):
        text = (
            f"The saved training {training.fit + 1} is past the epochs that the script now asks "
            f"for ({told(found.differences)}). It starts over; its saved state is kept."
        )
        return Course(goes_on=False, told=text)
    if training.finished:
        return _extended(found, training, now, take)
    if found.verdict is TrainingVerdict.EPOCHS:
        return Course(goes_on=True, told=f"Using the script's value: {told(found.differences)}.")
    if found.verdict is TrainingVerdict.RESUMED:
        return _resumed(found, training.epoch)
    if found.verdict is TrainingVerdict.EDITED:
        return _edited(found, training, now, force=force)
    return _changed(found, take, force=force)


def _doubt_of_edit(now: Identity, before: Identity) -> str:
    if names := [each.name for each in differences(before.variables, now.variables)]:
        return f"Environment variables that this training reads have changed: {', '.join(names)}."
    is_same = before.reached in ("", now.reached)
    return "" if is_same or not is_changed(now, before) else EDITED


def _has_passed(found: TrainingMatch, now: Identity, epoch: int) -> bool:
    if all(each.name != EPOCHS for each in found.differences):
        return False
    epochs = now.settings.get(EPOCHS, "")
    return epochs.isdecimal() and int(epochs) <= epoch


def _extended(
    found: TrainingMatch, training: RestorePoint, now: Identity, take: Collection[str]
) -> Course:
    before = training.identity.settings.get(EPOCHS, "")
    epochs = now.settings.get(EPOCHS, "")
    is_more = before.isdecimal() and epochs.isdecimal() and before != epochs
    if not is_more or found.verdict is TrainingVerdict.EDITED:
        return Course(goes_on=False, told=_told_again(found, training))
    others = tuple(each for each in found.differences if each.name != EPOCHS)
    if missing := [f"--take {each.name}" for each in others if not _is_asked(each, take)]:
        hint = f" To continue after its last epoch with the script's values: {' '.join(missing)}."
        return Course(goes_on=False, told=_told_again(found, training) + hint)
    text = (
        f"Training {training.fit + 1} was finished, but the script now asks for {epochs} epochs "
        f"instead of {before}: it continues after its last epoch."
    )
    doubt = f"The training continues with other settings: {told(others)}." if others else ""
    return Course(True, taken=found.differences, told=text, doubt=doubt, extends=True)


def _changed(found: TrainingMatch, take: Collection[str], *, force: bool) -> Course:
    # Always the script's own: how long it trains, and which callbacks it has.
    asked = [
        each
        for each in found.differences
        if each.name in (EPOCHS, CALLBACKS) or _is_asked(each, take)
    ]
    held = tuple(each for each in found.differences if each not in asked and can_hold(each))
    taken = tuple(each for each in found.differences if each not in held)
    lost = [each for each in taken if each not in asked]
    if lost and not force:
        refusal = ResumeRefused(
            f"The script was changed: {told(lost)}. The saved training cannot continue with the "
            "old value because only the script had it.",
            "Undo the change, resume with the script's new value "
            f"({' '.join(f'--take {each.name}' for each in lost)}), or start over with --new.",
        )
        return Course(goes_on=False, refusal=refusal)
    notes = []
    if held:
        ways = " ".join(f"--take {each.name}" for each in held)
        notes.append(
            f"Using the saved values instead of the script's changes ({told(held)}); "
            f"{ways} uses the script's."
        )
    if taken:
        notes.append(f"Using the script's values: {told(taken)}.")
    exact = all(each.name == EPOCHS for each in taken)
    doubt = "" if exact else f"The training continues with other settings: {told(taken)}."
    return Course(True, held, taken, " ".join(notes), doubt)


def _is_asked(difference: Difference, take: Collection[str]) -> bool:
    name = difference.name
    return bool({name, name.rpartition(".")[2], _ALL} & set(take))


def can_hold(difference: Difference) -> bool:
    both = difference.before, difference.now
    return difference.name not in FIXED and all(map(_is_literal, both))


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except NOT_LITERAL:
        return text in ("inf", "-inf", "nan")
    return True


def _edited(found: TrainingMatch, training: RestorePoint, now: Identity, *, force: bool) -> Course:
    data = {*now.data, *training.identity.data}
    if force or all(each.name in data for each in found.differences):
        names = [each.name for each in found.differences]
        what = "training data" if all(name in data for name in names) else "model"
        return Course(True, doubt=f"The {what} changed: {', '.join(names)}." if names else "")
    refusal = ResumeRefused(
        f"The trained model has changed: {', '.join(each.name for each in found.differences)}.",
        "Undo the change, start over with --new, or restore what still fits with --force.",
    )
    return Course(goes_on=False, refusal=refusal)


def _resumed(found: TrainingMatch, epoch: int) -> Course:
    first = int(found.differences[0].now)
    if epoch >= first:
        text = f"The script resumed at epoch {first + 1} by itself; the saved state is newer."
        return Course(goes_on=True, told=text)
    text = (
        f"The script resumed at epoch {first + 1} by itself, and the saved state is at epoch "
        f"{epoch + 1}: using the script's own resume."
    )
    return Course(goes_on=False, told=text, doubt=text)


def _told_again(found: TrainingMatch, training: RestorePoint) -> str:
    what = told(found.differences) or NO_EVIDENCE
    return (
        f"Training {training.fit + 1} was finished, but the script was changed: {what}. It starts "
        "over; its old result is kept."
    )


def _told_another(found: TrainingMatch, training: RestorePoint, now: Identity) -> str:
    before = training.identity
    is_near = (now.frames, now.counters) == (before.frames, before.counters)
    if training.finished and not is_near:
        return ""
    state = "finished" if training.finished else "interrupted"
    what = told(found.differences) or NO_EVIDENCE
    return (
        f"This training is not the {state} training {training.fit + 1}: {what}. It starts from "
        "its beginning; the saved state is kept."
    )


def told(found: Iterable[Difference]) -> str:
    return "; ".join(map(str, found))


def doubt_of_memory(
    now: Mapping[str, str], before: Mapping[str, str], left_out: Sequence[Identity]
) -> str:
    """Why names may lack what `left_out` trainings put there, see `Identity.names`; or empty."""
    start = left_out[0].names if left_out else {}
    lost = [name for name, value in now.items() if start.get(name) == value != before.get(name)]
    if not lost:
        return ""
    return (
        f"The script skipped {len(left_out)} finished trainings and no longer has in memory what "
        f"it kept of them: {', '.join(lost)}."
    )


def doubt_of_left_out(now: Identity, left_out: Sequence[Identity]) -> str:
    """Why a new training may not be what it is without an interruption; or empty."""
    if not left_out:
        return ""
    if is_changed(now, left_out[-1]):
        return (
            f"The script was changed, and leaves out {len(left_out)} finished trainings: this one "
            "may depend on what they would have left in memory, or on their random numbers."
        )
    before = [each for each in left_out if each.seed == now.seed]
    if not now.seed or not before or any(each.reseeded for each in before) or now.reseeded:
        return (
            f"The script skipped {len(left_out)} finished trainings: what it kept of them in "
            "memory, such as the best model, is not restored."
        )
    return (
        f"The script skipped {len(before)} finished trainings and did not set a seed again: this "
        "one may draw other random numbers than without the interruption, and may begin with "
        "another state of the optimizer."
    )
