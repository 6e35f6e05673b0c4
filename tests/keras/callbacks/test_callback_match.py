"""Callbacks are known by kind and configuration, wherever they stand."""

from __future__ import annotations

from typing import Any

from pitstop.keras.callbacks.callback_nodes import matched, numbered


class Stopping:
    def __init__(self, monitor: str, wait: int = 0) -> None:
        self.monitor = monitor
        self.wait = wait


class History:
    pass


def saved(*callbacks: Any) -> list[dict[str, Any]]:
    return [{"class": type(each).__name__, "attributes": dict(vars(each))} for each in callbacks]


def found(before: list[Any], now: list[Any]) -> list[Any]:
    return [callback for _, callback in matched(saved(*before), now)]


def test_one_that_was_removed_does_not_move_the_others() -> None:
    history, stopping = History(), Stopping("loss")
    assert found([Stopping("loss"), History()], [history]) == [None, history]
    assert found([History()], [stopping, history]) == [history]


def test_two_of_a_kind_are_told_apart_by_their_configuration() -> None:
    loss, accuracy = Stopping("loss"), Stopping("accuracy")
    before = [Stopping("loss", wait=3), Stopping("accuracy", wait=1)]
    assert found(before, [accuracy, loss]) == [loss, accuracy]
    assert found(before, [accuracy]) == [None, accuracy]


def test_equal_ones_keep_their_order() -> None:
    one, other = Stopping("loss"), Stopping("loss")
    assert found([Stopping("loss"), Stopping("loss")], [one, other]) == [one, other]


def test_names_count_within_a_class() -> None:
    one, history, other = Stopping("a"), History(), Stopping("b")
    assert numbered([one, history, other]) == {
        "Stopping[0]": one,
        "History[0]": history,
        "Stopping[1]": other,
    }
