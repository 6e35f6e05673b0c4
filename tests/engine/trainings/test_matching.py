"""Which saved training a call goes on with."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.engine.trainings.matching import TrainingVerdict, match
from pitstop.record import build

DRAWN = {"random streams": "s0", "first weights": "w0"}
TRIAL = Identity(
    program="p",
    command="c",
    frames=("sweep.py:<module>:model.fit:0",),
    counters=("trial=0", "rate=0.1"),
    complete=True,
    values="v0",
    reached="r0",
    seed="0",
    random=DRAWN,
    architecture={"layers": "l"},
    settings={"learning_rate": "0.1", "epochs": "10"},
    data={"x": "float32[8] d"},
    digested=True,
)


def trial(number: int, rate: str = "0.1", **changes: object) -> Identity:
    return replace(
        TRIAL,
        ordinal=number,
        visit=number,
        counters=(f"trial={number}", f"rate={rate}"),
        settings={**TRIAL.settings, "learning_rate": rate},
        random={"random streams": f"s{number}", "first weights": f"w{number}"},
        **changes,  # type: ignore[arg-type]
    )


def in_while_loop(number: int, **changes: object) -> Identity:
    found = replace(trial(number), counters=(), complete=False, values=f"v{number}")
    return replace(found, settings=TRIAL.settings, **changes)  # type: ignore[arg-type]


def finished(fit: int, identity: Identity) -> RestorePoint:
    return RestorePoint("", 0, fit, "fit_end", identity=identity)


def interrupted(fit: int, identity: Identity) -> RestorePoint:
    return RestorePoint("", 0, fit, "", identity=identity)


def test_without_saved_trainings_there_is_none_to_go_on_with() -> None:
    found = match(TRIAL, [])
    assert (found.verdict, found.training) == (TrainingVerdict.ANOTHER, None)


def test_trainings_in_their_order_are_themselves() -> None:
    saved = [finished(0, trial(0)), finished(1, trial(1, "0.01")), interrupted(2, trial(2, "0.5"))]
    for each in saved:
        assert match(each.identity, saved).training == each


def test_what_the_script_leaves_out_shifts_nothing() -> None:
    """Its first call is the trial that was interrupted, and the next is a new one."""
    saved = [finished(0, trial(0)), interrupted(1, trial(1, "0.01"))]
    first = replace(trial(1, "0.01"), ordinal=0, visit=0)
    assert match(first, saved).training == saved[1]
    second = replace(trial(2, "0.5"), ordinal=1, visit=1)
    assert match(second, saved[:1]).verdict is TrainingVerdict.ANOTHER


def test_a_script_that_seeds_once_and_leaves_out_still_finds_what_was_interrupted() -> None:
    """It draws other numbers than before; what it is at says which training it is."""
    saved = [finished(0, trial(0)), interrupted(1, trial(1))]
    now = replace(trial(1), ordinal=0, visit=0, random=DRAWN)
    assert match(now, saved).training == saved[1]


def test_seeds_in_a_loop_are_trainings_of_their_own() -> None:
    saved = [finished(0, trial(0, seed="0"))]
    found = match(replace(trial(1, seed="1"), ordinal=0, visit=0), saved)
    assert found.verdict is TrainingVerdict.ANOTHER


@pytest.mark.parametrize(
    "now",
    [
        replace(TRIAL, settings={**TRIAL.settings, "learning_rate": "0.2"}),
        replace(TRIAL, architecture={"learning_rate": "0.2"}),
        replace(TRIAL, data={"learning_rate": "0.2"}),
    ],
)
def test_an_outcome_goes_to_nothing_that_differs(now: Identity) -> None:
    found = match(now, [finished(0, TRIAL)])
    assert found.verdict is TrainingVerdict.ANOTHER
    assert "learning_rate" in [each.name for each in found.differences]


def test_an_outcome_goes_to_no_training_whose_dataset_others_have_read_before() -> None:
    before = replace(TRIAL, readers=("0", "1", "2"))
    for readers in (("0", "1", "2"), ("1",), ()):
        now = replace(TRIAL, readers=readers)
        assert match(now, [finished(3, before)]).verdict is TrainingVerdict.SAME
    for others in (("0", "3"), ("1", "0"), ("0", "1", "2", "3")):
        now = replace(TRIAL, readers=others)
        assert match(now, [finished(3, before)]).verdict is TrainingVerdict.ANOTHER
        # It goes on with a saved state of its data.
        assert match(now, [interrupted(3, before)]).verdict is TrainingVerdict.SAME


def test_trainings_that_nothing_tells_apart_are_not_exchanged() -> None:
    """Unseeded, in a `while`: what was finished may have been left out."""
    saved = [finished(0, in_while_loop(0, seed=""))]
    now = in_while_loop(0, seed="")
    assert match(now, saved).verdict is TrainingVerdict.ANOTHER
    seeded = [finished(0, in_while_loop(0))]
    assert match(in_while_loop(0), seeded).verdict is TrainingVerdict.SAME
    assert match(replace(in_while_loop(0), values="v1"), seeded).verdict is TrainingVerdict.ANOTHER


def test_numbers_from_the_entropy_of_the_run_are_as_good_as_a_seed() -> None:
    before = in_while_loop(0, seed="", entropy="e0")
    saved = [finished(0, before)]
    assert match(before, saved).verdict is TrainingVerdict.SAME
    for now in (
        replace(before, entropy="e1"),
        replace(before, entropy=""),
        replace(before, values="v1"),
    ):
        assert match(now, saved).verdict is TrainingVerdict.ANOTHER


def test_what_code_reads_at_another_place_must_be_the_same() -> None:
    """A function that calls itself, and a global that its training step reads."""
    before = replace(TRIAL, reached="r0")
    saved = [finished(0, before)]
    deeper = replace(before, frames=(*before.frames, *before.frames), ordinal=3)
    assert match(deeper, saved).verdict is TrainingVerdict.SAME
    assert match(replace(deeper, values="v3"), saved).verdict is TrainingVerdict.ANOTHER
    assert match(replace(deeper, reached="r3"), saved).verdict is TrainingVerdict.ANOTHER
    reordered = replace(before, counters=("trial=2", "rate=0.1"), program="q")
    assert match(reordered, saved).verdict is TrainingVerdict.SAME
    assert match(replace(reordered, reached="r3"), saved).verdict is TrainingVerdict.ANOTHER


def test_an_unseeded_training_goes_on_at_its_place() -> None:
    """Its first weights are others in each process."""
    saved = [interrupted(0, trial(0, seed=""))]
    now = replace(trial(0, seed=""), random={"random streams": "x", "first weights": "y"})
    assert match(now, saved).training == saved[0]
    ended = [finished(0, trial(0, seed=""))]
    assert match(now, ended).training == ended[0]
    assert match(replace(now, program="q"), ended).verdict is TrainingVerdict.CHANGED


def test_a_reordered_list_is_matched_by_what_is_computed() -> None:
    saved = [finished(0, trial(0, "0.1")), finished(1, trial(1, "0.01"))]
    now = replace(
        trial(0, "0.01"), random=saved[1].identity.random, counters=("trial=0",), program="q"
    )
    assert match(now, saved).training == saved[1]


def test_changed_settings_are_named_where_the_script_was_changed() -> None:
    saved = [interrupted(0, TRIAL)]
    now = replace(TRIAL, settings={**TRIAL.settings, "learning_rate": "0.5"})
    assert match(now, saved).verdict is TrainingVerdict.ANOTHER
    found = match(replace(now, program="q"), saved)
    assert found.verdict is TrainingVerdict.CHANGED
    assert [str(each) for each in found.differences] == ["learning_rate 0.5, was 0.1"]


def test_another_model_in_the_same_place_is_an_edited_training() -> None:
    now = replace(TRIAL, architecture={"layers": "m"}, program="q")
    assert match(now, [interrupted(0, TRIAL)]).verdict is TrainingVerdict.EDITED


def test_a_script_that_resumes_by_itself_is_found_out() -> None:
    before = replace(TRIAL, settings={**TRIAL.settings, "initial_epoch": "0"})
    now = replace(TRIAL, settings={**TRIAL.settings, "initial_epoch": "4"})
    assert match(now, [interrupted(0, before)]).verdict is TrainingVerdict.RESUMED


def test_more_epochs_are_the_same_training_only_where_it_begins_the_same() -> None:
    more = replace(TRIAL, settings={**TRIAL.settings, "epochs": "20"})
    for saved in (finished(0, TRIAL), interrupted(0, TRIAL)):
        assert match(more, [saved]).verdict is TrainingVerdict.EPOCHS
        assert match(replace(more, program="q"), [saved]).verdict is TrainingVerdict.EPOCHS
    loaded = replace(more, random={"random streams": "s0", "first weights": "of a file"})
    assert match(loaded, [finished(0, TRIAL)]).verdict is TrainingVerdict.ANOTHER
    rung = replace(more, counters=("rung=2", "rate=0.1"))
    assert match(rung, [finished(0, TRIAL)]).verdict is TrainingVerdict.ANOTHER


def test_more_epochs_of_an_unseeded_script_need_a_change_of_the_user() -> None:
    before = replace(TRIAL, seed="")
    more = replace(before, settings={**TRIAL.settings, "epochs": "20"}, random={"x": "y"})
    assert match(more, [finished(0, before)]).verdict is TrainingVerdict.ANOTHER
    edited = match(replace(more, program="q"), [finished(0, before)])
    assert edited.verdict is TrainingVerdict.EPOCHS


def test_what_follows_a_training_that_went_another_way_is_proven_or_trained() -> None:
    """The second `fit` of one model, where the first one has changed."""
    saved = [finished(1, trial(1, seed="")), interrupted(2, trial(2, seed=""))]
    now = replace(trial(2, seed=""), random={"random streams": "s2", "first weights": "other"})
    assert match(now, saved).training == saved[1]
    assert match(now, saved, strayed=True).verdict is TrainingVerdict.ANOTHER
    assert match(trial(2, seed=""), saved, strayed=True).training == saved[1]


def test_an_identity_is_what_was_written() -> None:
    assert build(Identity, "identity", json.loads(json.dumps(vars(TRIAL)))) == TRIAL
    with pytest.raises(ValueError, match="identity"):
        build(Identity, "identity", {"frames": [1]})
