"""What is recorded, what is answered, and when a loop is live again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.leaving import Refused, TrainingStopped
from pitstop.events import (
    Event,
    FitEnded,
    FitRestored,
    FitStarted,
    LevelKnown,
    Notice,
    Restored,
    TrainerStopped,
)
from pitstop.link.beacon import Stop
from pitstop.replay import record
from tests.replay.attempt import as_saved
from tests.replay.conftest import MakeAttempt

INPUTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def only(events: list[Event], kind: type[Any]) -> Any:
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def last(events: list[Event], kind: type[Any]) -> Any:
    return [event for event in events if isinstance(event, kind)][-1]


def test_nothing_happens_before_the_first_step(make: MakeAttempt) -> None:
    attempt = make()
    double = tf.function(lambda x: 2 * x)
    assert float(attempt.call(double, tf.constant(3.0))) == 6
    assert (attempt.opened, attempt.recorder.loop) == (0, None)


def test_steps_are_counted_and_other_calls_are_not(make: MakeAttempt) -> None:
    attempt = make()
    attempt.train(INPUTS[:2])
    attempt.call(tf.function(lambda x: x + attempt.weights), tf.constant(1.0))
    progress = attempt.beacon.progress()
    assert (attempt.opened, progress.step) == (1, 2)
    assert progress.loss == pytest.approx(float(tf.reduce_sum(attempt.weights)))


def test_a_loop_goes_on_with_the_same_bits(make: MakeAttempt) -> None:
    expected = make().train(INPUTS)
    first = make()
    first.train(INPUTS[:4])
    second = make(first.save())
    assert second.train(INPUTS) == expected
    events = second.events()
    assert only(events, Restored).step == 4
    assert only(events, Restored).level == "exact_by_replay"


def test_an_answer_is_not_computed(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:5])
    second = make(first.save())
    second.train(INPUTS[:4])
    # The first call of a function is computed: it may create variables.
    assert int(second.computed) == 1
    second.step(INPUTS[4])
    assert int(second.computed) == 5


def test_a_resumed_loop_is_resumed_again(make: MakeAttempt) -> None:
    expected = make().train(INPUTS)
    first = make()
    first.train(INPUTS[:2])
    second = make(first.save())
    second.train(INPUTS[:4])
    third = make(second.save())
    assert third.train(INPUTS) == expected
    assert only(third.events(), Restored).step == 4


def test_a_variable_is_seen_as_it_was(make: MakeAttempt) -> None:
    def script(attempt: Any) -> list[float]:
        seen = []
        for x in INPUTS:
            attempt.step(x)
            attempt.recorder.reads(attempt.weights)
            seen.append(float(attempt.weights[1]))
            if x == 0.3:
                attempt.recorder.reads(attempt.weights)
                attempt.weights.assign(attempt.weights * 2.0)
        return seen

    expected = script(make())
    whole = make()
    assert script(whole) == expected
    again = make(whole.save())
    assert script(again) == expected
    assert only(again.events(), Restored).level == "exact_by_replay"


@pytest.mark.parametrize(("before", "now"), [({2}, {1, 2}), ({1, 2, 3}, {3})])
def test_looks_at_other_places_are_told(make: MakeAttempt, before: set[int], now: set[int]) -> None:
    def script(attempt: Any, looks: set[int], steps: int) -> list[float]:
        losses = []
        for number, x in enumerate(INPUTS[:steps]):
            losses.append(attempt.step(x))
            if number in looks:
                attempt.recorder.reads(attempt.weights)
        return losses

    expected = script(make(), set(), 6)
    first = make()
    script(first, before, 5)
    second = make(first.save())
    assert script(second, now, 6) == expected
    assert "reads variables at different points" in only(second.events(), Restored).reason


def test_looks_between_two_calls_come_in_any_order(make: MakeAttempt) -> None:
    def script(attempt: Any, names: list[str]) -> None:
        for x in INPUTS[:3]:
            for name in names:
                attempt.recorder.reads(getattr(attempt, name))
            attempt.step(x)

    first = make()
    script(first, ["weights", "computed"])
    second = make(first.save())
    script(second, ["computed", "weights"])
    assert only(second.events(), Restored).level == "exact_by_replay"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (tf.constant([0.1]), "call 2 of its loop was _train_step(float32[]) but is now"),
        (tf.constant(1), "is now _train_step(int32[])"),
    ],
)
def test_another_call_is_refused(make: MakeAttempt, inputs: Any, words: str) -> None:
    first = make()
    first.train(INPUTS[:3])
    second = make(first.save())
    second.step(INPUTS[0])
    with pytest.raises(Refused) as caught:
        second.call(second.train_step, inputs)
    assert caught.value.code == 2
    notice = last(second.events(), Notice)
    assert notice.code == "resume_refused"
    assert words in notice.message
    assert "pitstop.start" in notice.remedy


def test_other_input_is_told(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:2])
    second = make(first.save())
    second.train([0.1, 0.25])
    restored = only(second.events(), Restored)
    assert restored.level == "not_exact"
    assert "input differs" in restored.reason


def test_another_training_is_not_answered(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:3])
    second = make(first.save())
    second.weights.assign([3.0, 2.0])
    expected = [0.5 * 5 + 2 * INPUTS[0]]
    assert second.train(INPUTS[:1]) == pytest.approx(expected)
    events = second.events()
    assert last(events, LevelKnown).level == "not_exact"
    assert not [event for event in events if isinstance(event, Restored)]


def test_another_training_of_a_member_is_refused(make: MakeAttempt) -> None:
    """The other members continue from the saved state: together they would train on two."""
    first = make()
    first.train(INPUTS[:3])
    second = make(first.save())
    second.session.snapshots.lockstep.agreed = True
    second.weights.assign([3.0, 2.0])
    with pytest.raises(Refused):
        second.step(INPUTS[0])
    notice = only(second.events(), Notice)
    assert notice.code == "resume_refused"
    assert "other members continue" in notice.message


def test_a_changed_training_is_refused(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:3])
    saved = first.save()
    saved.state["replay"]["identity"]["place"]["program"] = "another"
    second = make(saved)
    second.weights.assign([3.0, 2.0])
    with pytest.raises(Refused):
        second.step(INPUTS[0])
    assert only(second.events(), Notice).code == "resume_refused"


def test_a_changed_model_is_refused(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:1])
    saved = first.save()
    saved.state["variables"][0]["shape"] = [3]
    with pytest.raises(Refused):
        make(saved).step(INPUTS[0])


def test_a_state_of_a_fit_is_refused(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:1])
    saved = first.save()
    del saved.state["replay"]
    with pytest.raises(Refused):
        make(saved).step(INPUTS[0])


def test_a_stop_while_live_is_obeyed_behind_the_step(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    attempt.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        attempt.step(INPUTS[1])
    assert only(attempt.events(), TrainerStopped).step == 2


def test_a_stop_while_repeating_saves_nothing(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:4])
    second = make(first.save())
    second.step(INPUTS[0])
    second.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        second.step(INPUTS[1])
    events = second.events()
    assert only(events, TrainerStopped).step == 4
    assert not any(isinstance(event, Restored) for event in events)


def test_a_call_that_raises_ends_the_record(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])

    def fail() -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        attempt.call(tf.function(fail))
    loop = attempt.recorder.loop
    assert loop is not None
    assert loop.take() is None
    assert "fail raised ValueError; use pitstop.start" in loop.level.reason
    # A script that ends by it has been saved before, and is no worse for it.
    reported: list[Event] = []
    attempt.session.report = reported.append
    attempt.step(INPUTS[1])
    assert "fail raised ValueError" in only(reported, LevelKnown).reason


def test_without_a_record_a_stop_is_obeyed_before_the_next_call(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    attempt.call(tf.function(lambda: tf.constant("words")))
    attempt.beacon.request_stop(Stop.GRACEFUL)
    done = int(attempt.computed)
    with pytest.raises(TrainingStopped):
        attempt.step(INPUTS[1])
    assert int(attempt.computed) == done
    assert "returns a tensor of strings" in last(attempt.events(), LevelKnown).reason


def test_a_record_that_grows_too_large(make: MakeAttempt, monkeypatch: Any) -> None:
    monkeypatch.setattr(record, "LARGEST_RECORD_BYTES", 60)
    attempt = make()
    losses = attempt.train(INPUTS)
    assert losses == make().train(INPUTS)
    known = last(attempt.events(), LevelKnown)
    assert known.level == "not_exact"
    assert "last entry: _train_step(float32[])" in known.reason


def test_a_hidden_random_stream_is_told_and_saved_all_the_same(make: MakeAttempt) -> None:
    attempt = make()

    def noisy(x: Any) -> Any:
        attempt.recorder.traced.random_op("RandomUniform")
        attempt.weights.assign_add([x, x])
        return x

    attempt.call(tf.function(noisy), tf.constant(1.0))
    assert attempt.save().state["level"]["level"] == "not_exact"
    reason = last(attempt.events(), LevelKnown).reason
    assert "noisy uses a hidden random stream (RandomUniform at" in reason
    assert ".py:" in reason


def test_a_function_that_draws_its_input_is_told(make: MakeAttempt) -> None:
    attempt = make()

    def greedy(x: Any) -> Any:
        attempt.recorder.traced.input_op("IteratorGetNext")
        attempt.weights.assign_add([x, x])
        return x

    attempt.call(tf.function(greedy), tf.constant(1.0))
    assert "greedy reads its own input" in only(attempt.events(), LevelKnown).reason


def test_gradients_outside_of_functions_are_told_once(make: MakeAttempt) -> None:
    attempt = make()
    attempt.recorder.eager.applies_gradients()
    attempt.recorder.eager.applies_gradients()
    attempt.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        attempt.recorder.eager.applies_gradients()
    reason = only(attempt.events(), LevelKnown).reason
    assert reason.startswith("no step is saved from here on, so a resume trains this loop from its")
    assert "because gradients are applied outside" in reason
    assert "pitstop.start and run.steps" in reason


def test_a_loop_behind_steps_in_the_open_is_saved(make: MakeAttempt) -> None:
    def script(attempt: Any) -> list[float]:
        attempt.recorder.eager.applies_gradients()
        return [float(attempt.step(x)) for x in INPUTS]

    expected = script(make())
    first = make()
    first.recorder.eager.applies_gradients()
    for x in INPUTS[:2]:
        first.step(x)
    saved = first.save()
    assert saved.state["level"]["level"] == "exact_by_replay"
    second = make(saved)
    assert script(second) == expected
    assert only(second.events(), Restored).level == "exact_by_replay"


def test_a_loop_that_is_not_saved_any_more_says_where_a_resume_goes_on(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    attempt.save()
    attempt.recorder.eager.applies_gradients()
    assert "so a resume goes on from step 1, because" in last(attempt.events(), LevelKnown).reason


def test_a_script_without_a_seed_is_told(make: MakeAttempt) -> None:
    attempt = make()
    tf.random.set_seed(None)
    attempt.step(INPUTS[0])
    attempt.save()
    assert "sets no seed" in only(attempt.events(), LevelKnown).reason


def test_random_streams_are_those_of_the_cut(make: MakeAttempt) -> None:
    def script(attempt: Any) -> list[float]:
        drawn = []
        for _ in INPUTS:
            attempt.step(float(np.random.random()))
            drawn.append(float(tf.random.normal(())))
        return drawn

    np.random.seed(4)
    whole = make()
    expected = script(whole)
    np.random.seed(4)
    first = make()
    script_start = np.random.get_state()
    first.train([float(np.random.random())])
    saved = first.save()
    np.random.set_state(script_start)
    assert script(make(saved)) == expected


def test_a_fit_ends_a_loop_and_another_begins(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:3])
    assert first.recorder.aside(lambda: "history") == "history"
    (cut,) = first.kept
    assert cut is not None
    assert (cut.position.step, cut.position.milestone) == (3, "loop_end")
    first.train(INPUTS[3:])
    started = [event.fit for event in first.events() if isinstance(event, FitStarted)]
    assert started == [0, 1]


def test_a_finished_loop_is_repeated_up_to_the_fit(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:3])
    first.weights.assign_add([5.0, 5.0])
    first.recorder.aside(lambda: None)
    second = make(as_saved(first.kept[0]))
    second.train(INPUTS[:3])
    second.recorder.aside(lambda: None)
    assert second.weights.numpy().tolist() == first.weights.numpy().tolist()
    assert second.kept == []
    assert only(second.events(), FitRestored).step == 3


def test_a_loop_before_a_later_point_is_not_saved(make: MakeAttempt) -> None:
    first = make()
    first.train(INPUTS[:1])
    saved = first.save()
    saved.state["position"]["fit"] = 1
    second = make(saved)
    second.train(INPUTS[:2])
    assert second.recorder.loop is not None
    assert second.recorder.loop.take() is None


def test_the_end_of_the_script_is_the_end_of_the_loop(make: MakeAttempt) -> None:
    attempt = make()
    attempt.train(INPUTS[:2])
    assert attempt.recorder.loop is not None
    attempt.recorder.loop.script_ended()
    assert only(attempt.events(), FitEnded).step == 2


def test_a_stop_that_comes_too_late_does_not_change_its_end(make: MakeAttempt) -> None:
    attempt = make()
    attempt.train(INPUTS[:2])
    assert attempt.recorder.loop is not None
    attempt.beacon.request_stop(Stop.GRACEFUL)
    attempt.recorder.loop.script_ended()
    assert only(attempt.events(), FitEnded).step == 2


def test_a_script_that_exits_for_a_stop_has_not_ended_its_loop(make: MakeAttempt) -> None:
    attempt = make()
    attempt.train(INPUTS[:2])
    assert attempt.recorder.loop is not None
    attempt.beacon.request_stop(Stop.GRACEFUL)
    attempt.session.exit_called = True
    attempt.recorder.loop.script_ended()
    assert [each for each in attempt.events() if isinstance(each, FitEnded)] == []


def in_a_thread(run: Any) -> None:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_only_the_script_itself_is_listened_to(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    heard: list[bool] = [attempt.recorder.listens()]
    in_a_thread(lambda: heard.append(attempt.recorder.listens()))
    attempt.recorder.aside(lambda: heard.append(attempt.recorder.listens()))
    tf.function(lambda: heard.append(attempt.recorder.listens()))()
    attempt.recorder.switch_off()
    heard.append(attempt.recorder.listens())
    assert heard == [True, False, False, False, False]


def test_a_loop_in_a_thread_goes_on_with_the_same_bits(make: MakeAttempt) -> None:
    expected = make().train(INPUTS)
    first, losses = make(), list[float]()
    in_a_thread(lambda: losses.extend(first.train(INPUTS[:4])))
    second = make(first.save())
    in_a_thread(lambda: losses.extend(second.train(INPUTS)))
    assert losses == expected[:4] + expected
    assert only(second.events(), Restored).step == 4


def test_a_second_thread_that_trains_ends_the_record(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    in_a_thread(lambda: attempt.elsewhere(attempt.train_step, tf.constant(1.0)))
    assert "trains at the same time in another thread" in last(attempt.events(), LevelKnown).reason


def test_a_call_within_a_gradient_tape_ends_the_record(make: MakeAttempt) -> None:
    attempt = make()
    attempt.step(INPUTS[0])
    with tf.GradientTape():
        attempt.call(tf.function(lambda x: x + attempt.weights), tf.constant(1.0))
    assert attempt.recorder.loop is not None
    assert attempt.recorder.loop.take() is None
    assert "while a gradient tape is open" in last(attempt.events(), LevelKnown).reason


def test_python_state_that_a_function_changes_is_told(make: MakeAttempt) -> None:
    attempt = make()

    def counts(x: Any) -> None:
        attempt.recorder.traced.state_op("EagerPyFunc")
        attempt.weights.assign_add([x, x])

    attempt.call(tf.function(counts), tf.constant(1.0))
    attempt.save()
    assert (
        "counts changes state that is not a variable" in last(attempt.events(), LevelKnown).reason
    )


def test_a_function_that_makes_its_variables_does_not_train(make: MakeAttempt) -> None:
    attempt, made = make(), list[Any]()

    def forward(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(2.0))
        return made[0] * x

    function = tf.function(forward)
    attempt.call(function, tf.constant(1.0))
    assert float(attempt.call(function, tf.constant(3.0))) == 6
    assert (attempt.opened, attempt.recorder.loop) == (0, None)
