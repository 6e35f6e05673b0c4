"""What callbacks remember comes back, into the same lists and dictionaries."""

from __future__ import annotations

import json
import operator
from collections import deque
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from pitstop.engine.values.python_state import Encoder
from pitstop.keras.callbacks import callback_nodes
from pitstop.keras.inputs.fit_objects import FitObjects


def a_rule(value: float) -> float:
    return value


class Mine(keras.callbacks.Callback):
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        self.__dict__.update(attributes)


class Other(Mine):
    pass


def described_of(callbacks: list[Any]) -> tuple[Any, list[str]]:
    """What a saved state says of callbacks, and what it does not carry."""
    fit, _, unverified = saved_of(callbacks)
    return fit["callbacks"], unverified


def saved_of(callbacks: list[Any]) -> tuple[Any, dict[str, memoryview], list[str]]:
    # As of callbacks that `fit` adds by itself: nothing is known of them when it begins.
    return captured(begun([]), callbacks)


def begun(callbacks: list[Any]) -> FitObjects:
    objects = FitObjects()
    objects.begin({}, callbacks)
    return objects


def captured(
    objects: FitObjects, callbacks: list[Any]
) -> tuple[Any, dict[str, memoryview], list[str]]:
    encoder = Encoder("")
    described, nodes = objects.capture(encoder, callbacks, read_ahead=False)
    fit = json.loads(json.dumps({"callbacks": described, "objects": nodes}))
    arrays = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    return fit, arrays, objects.unverified


def restored(into: list[Any], described: Any) -> list[str]:
    """Gives callbacks what a state says; what does not hold."""
    return given(into, {"callbacks": described, "objects": {"cut": {}}}, {})


def given(into: list[Any], fit: Any, arrays: dict[str, memoryview]) -> list[str]:
    objects = begun(into)
    return [*objects.restore(fit, arrays, into, left="none"), *objects.unverified]


def through_json(callbacks: list[Any], into: list[Any]) -> list[str]:
    """Saves the state of some callbacks and restores it into others."""
    fit, arrays, _ = saved_of(callbacks)
    return given(into, fit, arrays)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.5, "text", (1, 2), {"a": [1.5]}, {3, 4}, deque([1], maxlen=2), a_rule],
)
def test_a_value_comes_back(value: Any) -> None:
    into = Mine(value="something else")
    assert through_json([Mine(value=value)], [into]) == []
    assert into.value == value
    assert type(into.value) is type(value)


def test_arrays_come_back() -> None:
    into = Mine(weights=[])
    through_json([Mine(weights=[np.arange(3.0), np.ones((2, 2), "f4")])], [into])
    assert [array.tolist() for array in into.weights] == [[0, 1, 2], [[1, 1], [1, 1]]]


@pytest.mark.parametrize(
    ("present", "saved"), [([9], [1, 2]), ({"x": 9}, {"a": 1}), ({9}, {1, 2}), ([], [0.5] * 100)]
)
def test_collections_are_refilled_in_place(present: Any, saved: Any) -> None:
    into = Mine(log=present)
    through_json([Mine(log=saved)], [into])
    assert into.log is present
    assert present == saved


def test_attributes_that_only_the_script_knows_stay() -> None:
    into = Mine(value=1, added="by the script")
    through_json([Mine(value=2)], [into])
    assert (into.value, into.added) == (2, "by the script")


def test_the_model_and_functions_without_a_name_are_the_scripts() -> None:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    layer = model.layers[0]
    saved = Mine(model_of_mine=model, layer=layer, rule=lambda: 1, module=json)
    saved.set_model(model)
    fit, _, unverified = captured(begun([saved]), [saved])
    assert unverified == []
    attributes = fit["callbacks"][0]["attributes"].keys()
    assert not attributes & {"model_of_mine", "_model", "layer", "rule", "module"}


def test_a_named_function_comes_back_as_the_scripts_own() -> None:
    into = Mine(rule=None, order=None, ufunc=None)
    through_json([Mine(rule=a_rule, order=operator.lt, ufunc=np.less)], [into])
    assert into.rule is a_rule
    assert into.order is operator.lt
    assert into.ufunc is np.less


@pytest.mark.parametrize(
    "name", ["os:system", "posix:system", "builtins:exec", "subprocess:run", "shutil:rmtree", "os"]
)
def test_a_state_names_no_function_that_does_harm(name: str) -> None:
    import subprocess  # noqa: F401 - a script may have imported it

    into = Mine(rule=None)
    saved = [{"class": "Mine", "attributes": {"rule": {"$function": name}}}]
    (problem,) = restored([into], saved)
    assert "does not belong" in problem
    assert into.rule is None


@pytest.mark.parametrize("key", ["_model", "on_epoch_end", "__class__"])
def test_a_state_replaces_nothing_but_attributes(key: str) -> None:
    into = Mine()
    before = dict(vars(into))
    saved = [{"class": "Mine", "attributes": {key: 7}}]
    assert len(restored([into], saved)) == 1
    assert vars(into) == before


def test_a_state_leads_a_callback_to_no_other_folder(tmp_path: Path) -> None:
    into = Mine(best=str(tmp_path / "best.keras"), seen=[])
    attributes = {"best": str(tmp_path / "best-7.keras"), "seen": ["/etc/passwd"]}
    (problem,) = restored([into], [{"class": "Mine", "attributes": attributes}])
    assert "/etc/passwd" in problem
    assert (into.best, into.seen) == (str(tmp_path / "best-7.keras"), [])


def test_a_callback_of_keras_writes_where_the_script_says(tmp_path: Path) -> None:
    into = keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"))
    attributes = {"filepath": str(tmp_path / "other.keras"), "best": 0.25}
    saved = [{"class": "ModelCheckpoint", "attributes": attributes}]
    assert restored([into], saved) == []
    assert (into.filepath, into.best) == (str(tmp_path / "best.keras"), 0.25)


def test_what_cannot_be_carried_is_named() -> None:
    described, unverified = described_of([Mine(table=[1, open], count=3)])
    assert unverified == ["Mine[0].table (with builtins.builtin_function_or_method)"]
    assert described[0]["attributes"]["count"] == 3
    into = Mine(table=["the script's"], count=0)
    assert through_json([Mine(table=[1, open], count=3)], [into]) != []
    assert (into.table, into.count) == (["the script's"], 3)


def test_the_progress_bar_is_left_alone() -> None:
    bar = keras.callbacks.ProgbarLogger()
    bar.seen = 7
    described, unverified = described_of([bar])
    assert (described, unverified) == (
        [{"class": "ProgbarLogger", "node": "", "attributes": {}}],
        [],
    )


def test_callbacks_that_changed_are_told_and_left_alone() -> None:
    saved = [Mine(value=1), Mine(value=1), Mine(value=1)]
    into: list[Any] = [Other(), Mine(value=5)]
    assert through_json(saved, into) == ["Mine is missing", "Mine is missing"]
    described, _ = described_of(saved)
    assert callback_nodes.new_kinds(into, described) == ["Other is new"]
    assert into[1].value == 1
    assert not hasattr(into[0], "value")


def test_a_function_in_the_place_of_a_method_is_the_scripts() -> None:
    saved, into = ([keras.callbacks.LambdaCallback(on_epoch_end=operator.add)] for _ in range(2))
    assert through_json(saved, into) == []


def test_a_file_of_another_folder_than_before_is_named(tmp_path: Path) -> None:
    places = [tmp_path / name / "best.weights.h5" for name in ("first", "second")]
    for place in places:
        place.parent.mkdir()
    saved, into = (
        [keras.callbacks.ModelCheckpoint(str(place), save_weights_only=True)] for place in places
    )
    assert through_json(saved, into) == []
    places[0].touch()
    (problem,) = through_json(saved, into)
    assert str(places[0]) in problem


@pytest.mark.parametrize("name", ["os:system", "builtins:eval", "subprocess:run"])
def test_a_hostile_state_names_no_function_of_the_system(name: str) -> None:
    into = Mine(value=None)
    described = [{"class": "Mine", "attributes": {"value": {"$function": name}}}]
    restored([into], described)
    assert into.value is None


def test_early_stopping_goes_on_counting() -> None:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(loss="mse")

    def new() -> Any:
        callback = keras.callbacks.EarlyStopping(monitor="loss", patience=3, min_delta=0.1)
        callback.set_model(model)
        callback.on_train_begin()
        return callback

    stopped, resumed = new(), new()
    for epoch, loss in enumerate([1.0, 0.5, 0.6]):
        stopped.on_epoch_end(epoch, {"loss": loss})
    through_json([stopped], [resumed])
    assert (resumed.wait, resumed.best, resumed.best_epoch) == (1, 0.5, 1)
    assert resumed.monitor_op is stopped.monitor_op
    assert resumed.min_delta == stopped.min_delta < 0
    for callback in (stopped, resumed):
        callback.on_epoch_end(3, {"loss": 0.45})
    assert resumed.wait == stopped.wait == 2


def test_callbacks_that_moved_keep_what_they_hold() -> None:
    saved = [Mine(log=[1], place="a"), Mine(log=[2], place="b"), Other(seen=[3])]
    into = [Other(seen=[]), Mine(log=[], place="b")]
    lists = [into[0].seen, into[1].log]
    assert through_json(saved, into) == ["Mine is missing"]
    assert lists == [[3], [2]]
    assert [into[0].seen, into[1].log] == lists
    assert into[0].seen is lists[0]


def test_a_list_that_two_callbacks_share_stays_one() -> None:
    shared: list[int] = []
    saved = [Mine(log=shared), Other(log=shared)]
    objects = begun(saved)
    shared.append(1)
    fit, arrays, _ = captured(objects, saved)
    there: list[int] = []
    into = [Mine(log=there), Other(log=there)]
    assert given(into, fit, arrays) == []
    assert there == [1]
    assert into[0].log is into[1].log is there


def test_a_callback_that_is_added_stays_as_it_began() -> None:
    old = Mine(count=1)
    fit, arrays, _ = captured(begun([old]), [old])
    new, other = Mine(count=0), Other(file=None, rows=[])
    objects = begun([new, other])
    other.file, other.more = "open", [1]
    other.rows.append(2)
    assert objects.restore(fit, arrays, [new, other], left="none") == []
    assert vars(other)["file"] == "open"
    assert (vars(other)["rows"], vars(other)["more"]) == ([2], [1])
    assert vars(new)["count"] == 1
