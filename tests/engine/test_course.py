"""What becomes of a training that begins."""

from __future__ import annotations

from dataclasses import replace

from pitstop.engine.course import Course, decide, doubt_of_left_out
from pitstop.engine.identity import Identity, differences
from pitstop.engine.matching import SavedTraining, TrainingMatch, TrainingVerdict

BEFORE = Identity(frames=("train.py",), seed="1", settings={"learning_rate": "0.1", "epochs": "10"})


def changed(**settings: str) -> tuple[TrainingMatch, Identity]:
    now = replace(BEFORE, settings={**BEFORE.settings, **settings}, program="q")
    found = differences(BEFORE.settings, now.settings)
    return TrainingMatch(
        TrainingVerdict.CHANGED, SavedTraining(0, BEFORE, finished=False), found
    ), now


def test_the_same_training_goes_on_without_a_word() -> None:
    course = decide(
        TrainingMatch(TrainingVerdict.SAME, SavedTraining(0, BEFORE, finished=False)),
        BEFORE,
        0,
        take=(),
        force=False,
    )
    assert course.goes_on
    assert (course.told, course.doubt, course.held, course.taken) == ("", "", (), ())


def test_a_saved_value_holds_and_both_are_named() -> None:
    course = decide(*changed(learning_rate="0.5"), 0, take=(), force=False)
    assert course.goes_on
    assert [each.name for each in course.held] == ["learning_rate"]
    assert "0.5" in course.told
    assert "0.1" in course.told


def test_what_only_the_script_has_is_refused() -> None:
    course = decide(*changed(loss="mae"), 0, take=(), force=False)
    assert course.refusal is not None
    assert "loss" in course.refusal.message


def test_what_is_taken_is_the_scripts() -> None:
    for take in (("learning_rate",), ("all",)):
        course = decide(*changed(learning_rate="0.5"), 0, take=take, force=False)
        assert [each.name for each in course.taken] == ["learning_rate"]
        assert course.doubt
    assert decide(*changed(loss="mae"), 0, take=("loss",), force=False).goes_on


def test_another_number_of_epochs_is_the_scripts() -> None:
    course = decide(*changed(epochs="20"), 0, take=(), force=False)
    assert [each.name for each in course.taken] == ["epochs"]
    assert not course.doubt


def extended(epochs: str, epoch: int, take: tuple[str, ...] = (), **others: str) -> Course:
    """What becomes of 10 epochs that had ended with this one."""
    now = replace(BEFORE, settings={**BEFORE.settings, "epochs": epochs, **others}, program="q")
    verdict = TrainingVerdict.CHANGED if others else TrainingVerdict.EPOCHS
    ended = SavedTraining(0, BEFORE, finished=True)
    found = TrainingMatch(verdict, ended, differences(BEFORE.settings, now.settings))
    return decide(found, now, epoch, take=take, force=False)


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
    found, now = changed(epochs="5")
    assert not decide(found, now, 5, take=(), force=False).goes_on
    assert decide(found, now, 4, take=(), force=False).goes_on


def test_an_own_resume_behind_the_saved_state_is_left_alone() -> None:
    found = TrainingMatch(
        TrainingVerdict.RESUMED,
        SavedTraining(0, BEFORE, finished=False),
        differences({"initial_epoch": "0"}, {"initial_epoch": "4"}),
    )
    assert decide(found, BEFORE, 4, take=(), force=False).goes_on
    alone = decide(found, BEFORE, 3, take=(), force=False)
    assert not alone.goes_on
    assert alone.doubt


def test_an_own_resume_that_is_no_certain_continuation_is_doubtful() -> None:
    found = TrainingMatch(
        TrainingVerdict.ANOTHER,
        SavedTraining(0, BEFORE, finished=False),
        differences({"initial_epoch": "0"}, {"initial_epoch": "4"}),
    )
    course = decide(found, BEFORE, 4, take=(), force=False)
    assert not course.goes_on
    assert course.doubt


def test_new_trainings_behind_those_that_were_left_out_are_doubtful() -> None:
    assert doubt_of_left_out(BEFORE, [BEFORE])
    assert not doubt_of_left_out(BEFORE, [])
    assert not doubt_of_left_out(BEFORE, [replace(BEFORE, reseeded=True)])
    assert not doubt_of_left_out(replace(BEFORE, seed=""), [replace(BEFORE, seed="")])
