"""What becomes of a training that begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.engine.trainings.course import (
    Course,
    can_hold,
    decide,
    doubt_of_left_out,
    doubt_of_memory,
    trained_as,
)
from pitstop.engine.trainings.identity import Difference, Identity, RestorePoint, differences
from pitstop.engine.trainings.matching import (
    TrainingMatch,
    TrainingVerdict,
    is_changed,
    what_differs,
)

BEFORE = Identity(frames=("train.py",), seed="1", settings={"learning_rate": "0.1", "epochs": "10"})


def saved(milestone: str = "", epoch: int = 0) -> RestorePoint:
    return RestorePoint("", 0, 0, milestone, epoch, BEFORE)


def changed(epoch: int = 0, **settings: str) -> tuple[TrainingMatch, Identity]:
    now = replace(BEFORE, settings={**BEFORE.settings, **settings}, program="q")
    found = differences(BEFORE.settings, now.settings)
    return TrainingMatch(TrainingVerdict.CHANGED, saved(epoch=epoch), found), now


def test_the_same_training_goes_on_without_a_word() -> None:
    course = decide(
        TrainingMatch(TrainingVerdict.SAME, saved()),
        BEFORE,
        take=(),
        force=False,
    )
    assert course.goes_on
    assert (course.told, course.doubt, course.held, course.taken) == ("", "", (), ())


def test_a_saved_value_holds_and_both_are_named() -> None:
    course = decide(*changed(learning_rate="0.5"), take=(), force=False)
    assert course.goes_on
    assert [each.name for each in course.held] == ["learning_rate"]
    assert "0.5" in course.told
    assert "0.1" in course.told


def test_a_saved_value_holds_in_the_attempts_after_the_next_too() -> None:
    found, now = changed(learning_rate="0.5", epochs="20")
    course = decide(found, now, take=(), force=False)
    trained = trained_as(now, BEFORE, course.held)
    assert [each.name for each in what_differs(trained, now)] == ["learning_rate"]
    assert is_changed(now, trained)
    assert trained_as(now, BEFORE, ()) == now


def test_what_only_the_script_has_is_refused() -> None:
    course = decide(*changed(loss="mae"), take=(), force=False)
    assert course.refusal is not None
    assert "loss" in course.refusal.message


def test_what_is_taken_is_the_scripts() -> None:
    for take in (("learning_rate",), ("all",)):
        course = decide(*changed(learning_rate="0.5"), take=take, force=False)
        assert [each.name for each in course.taken] == ["learning_rate"]
        assert course.doubt
    assert decide(*changed(loss="mae"), take=("loss",), force=False).goes_on


def test_what_a_new_callback_holds_is_the_scripts() -> None:
    new = {"callbacks": "EarlyStopping, CSVLogger", "CSVLogger.csv_file": "None"}
    course = decide(*changed(0, **new), take=(), force=False)
    assert [each.name for each in course.taken] == ["callbacks"]
    assert (course.goes_on, course.refusal) == (True, None)


def test_another_number_of_epochs_is_the_scripts() -> None:
    course = decide(*changed(epochs="20"), take=(), force=False)
    assert [each.name for each in course.taken] == ["epochs"]
    assert not course.doubt


def extended(epochs: str, epoch: int, take: tuple[str, ...] = (), **others: str) -> Course:
    """What becomes of 10 epochs that had ended with this one."""
    now = replace(BEFORE, settings={**BEFORE.settings, "epochs": epochs, **others}, program="q")
    verdict = TrainingVerdict.CHANGED if others else TrainingVerdict.EPOCHS
    ended = saved("fit_end", epoch)
    found = TrainingMatch(verdict, ended, differences(BEFORE.settings, now.settings))
    return decide(found, now, take=take, force=False)


def test_more_epochs_go_on_behind_the_last_one() -> None:
    longer = extended("20", 9)
    assert (longer.goes_on, longer.extends, longer.doubt) == (True, True, "")
    assert not extended("7", 9).goes_on
    stopped_early = extended("8", 6)
    assert stopped_early.goes_on


def test_more_epochs_with_other_settings_are_trained_anew_unless_they_are_asked_for() -> None:
    anew = extended("20", 9, learning_rate="0.5")
    assert not anew.goes_on
    assert "--take learning_rate" in anew.told
    taken = extended("20", 9, ("learning_rate",), learning_rate="0.5")
    assert taken.extends
    assert taken.doubt


def test_fewer_epochs_than_are_saved_are_trained_anew() -> None:
    assert not decide(*changed(5, epochs="5"), take=(), force=False).goes_on
    assert decide(*changed(4, epochs="5"), take=(), force=False).goes_on


def resumed(verdict: TrainingVerdict, epoch: int) -> Course:
    """What becomes of a saved state at this epoch where the script begins at epoch 4."""
    began = differences({"initial_epoch": "0"}, {"initial_epoch": "4"})
    found = TrainingMatch(verdict, saved(epoch=epoch), began)
    return decide(found, BEFORE, take=(), force=False)


def test_an_own_resume_behind_the_saved_state_is_left_alone() -> None:
    assert resumed(TrainingVerdict.RESUMED, 4).goes_on
    alone = resumed(TrainingVerdict.RESUMED, 3)
    assert not alone.goes_on
    assert alone.doubt


def test_an_own_resume_that_is_no_certain_continuation_is_doubtful() -> None:
    course = resumed(TrainingVerdict.ANOTHER, 4)
    assert not course.goes_on
    assert course.doubt


def test_new_trainings_behind_those_that_were_left_out_are_doubtful() -> None:
    assert "other random numbers" in doubt_of_left_out(BEFORE, [BEFORE])
    assert not doubt_of_left_out(BEFORE, [])
    edited = replace(BEFORE, program="q")
    assert "The script was changed, and leaves out 1" in doubt_of_left_out(edited, [BEFORE])
    for now, before in (
        (BEFORE, replace(BEFORE, reseeded=True)),
        (replace(BEFORE, seed=""), replace(BEFORE, seed="")),
    ):
        assert "kept of them in memory" in doubt_of_left_out(now, [before])


def test_what_names_hold_no_more_is_named() -> None:
    """`done` was read from a file, `best` is as at the very beginning."""
    start = replace(BEFORE, names={"best": "inf", "done": "none", "x": "data"})
    before = {"best": "0.5", "done": "none", "x": "data"}
    now = {"best": "inf", "done": "two", "x": "data"}
    assert doubt_of_memory(now, before, [start]).endswith(": best.")
    assert not doubt_of_memory(now, before, [])
    assert not doubt_of_memory(before, before, [start])


def test_edited_code_is_doubted_whatever_else_has_changed() -> None:
    found, now = changed(epochs="20")
    edited = replace(now, reached="other")
    before = replace(saved(), identity=replace(BEFORE, reached="one"))
    for verdict in (TrainingVerdict.CHANGED, TrainingVerdict.EPOCHS):
        match = TrainingMatch(verdict, before, found.differences)
        assert "code that this training runs" in decide(match, edited, take=(), force=False).doubt
    extended = TrainingMatch(
        TrainingVerdict.EPOCHS, replace(before, milestone="end"), found.differences
    )
    assert decide(extended, edited, take=(), force=False).doubt


def test_a_variable_of_the_environment_that_is_read_is_named() -> None:
    before = replace(BEFORE, variables={"SCALE": "one", "NAME": "two"})
    now = replace(before, variables={"SCALE": "three", "NAME": "two"})
    match = TrainingMatch(TrainingVerdict.SAME, replace(saved(), identity=before))
    doubt = decide(match, now, take=(), force=False).doubt
    assert "SCALE" in doubt
    assert "NAME" not in doubt
    assert not decide(match, before, take=(), force=False).doubt


@pytest.mark.parametrize(
    "text", ["{[]: 1}", "[" * 300, "-" * 10_000 + "1", "os.getpid()"], ids="1234"
)
def test_what_a_damaged_checkpoint_calls_a_number_is_not_held(text: str) -> None:
    assert not can_hold(Difference("learning_rate", text, "0.1"))


def test_two_digests_tell_a_reader_only_that_something_has_changed() -> None:
    assert str(Difference("code", "04a894ffb821d8fa", "d3ed097ff06cf72e")) == "code (changed)"
    assert str(Difference("epochs", "4", "6")) == "epochs 6, was 4"
