"""Events survive the way to JSON and back, those of newer writers included."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop import events
from pitstop.events import Event, UnknownEvent, from_record, to_record
from pitstop.record import Unfit, read
from tests.strategies import EVENT_CLASSES, instances_of

_KNOWN = [cls for cls in EVENT_CLASSES if cls is not UnknownEvent]


@pytest.mark.parametrize("cls", EVENT_CLASSES)
@given(data=st.data())
def test_every_event_survives_json(cls: type[Event], data: st.DataObject) -> None:
    event = data.draw(instances_of(cls))
    assert from_record(json.loads(json.dumps(to_record(event)))) == event


@pytest.mark.parametrize("cls", _KNOWN)
@given(data=st.data())
def test_fields_of_a_newer_writer_are_dropped(cls: type[Event], data: st.DataObject) -> None:
    event = data.draw(instances_of(cls))
    assert from_record({**to_record(event), "added_in_version_9": 1}) == event


def test_nan_survives_json() -> None:
    event = events.EpochEnded(0, 1, 20, 20, {"loss": math.nan})
    restored = from_record(json.loads(json.dumps(to_record(event))))
    assert isinstance(restored, events.EpochEnded)
    assert math.isnan(restored.logs["loss"])


def test_kind_is_the_class_name_in_snake_case() -> None:
    assert events.AttemptStarted.kind == "attempt_started"
    assert next(iter(to_record(events.ScriptEnded(step=3)).items())) == ("kind", "script_ended")


def test_kinds_are_unique() -> None:
    assert len({cls.kind for cls in EVENT_CLASSES}) == len(EVENT_CLASSES)


@pytest.mark.parametrize("record", [{}, {"kind": ""}, {"kind": "warp_engaged", "factor": 9}])
def test_an_unknown_kind_is_kept_whole(record: dict[str, object]) -> None:
    event = from_record(record)
    assert isinstance(event, UnknownEvent)
    assert to_record(event) == {"kind": "", **record}


def test_a_known_kind_without_a_required_field_becomes_unknown() -> None:
    record = {"kind": "checkpoint_committed", "step": 7}
    assert from_record(record) == UnknownEvent("checkpoint_committed", {"step": 7})
    assert to_record(from_record(record)) == record


@pytest.mark.parametrize("cls", EVENT_CLASSES)
@given(data=st.data())
def test_events_are_frozen(cls: type[Event], data: st.DataObject) -> None:
    event = data.draw(instances_of(cls))
    for field in dataclasses.fields(event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, None)


def test_values_of_several_texts_are_checked() -> None:
    assert read(tuple[str, ...], "", ["a", "b"]) == ("a", "b")
    assert read(tuple[str, ...], "", []) == ()
    assert read(tuple[int, ...], "", [1]) == (1,)
    assert read(dict[str, float], "", {"a": 0.5}) == {"a": 0.5}
    assert read(dict[str, dict[str, str]], "", {"a": {"b": "c"}}) == {"a": {"b": "c"}}
    for kind, value in ((tuple[str, ...], ["a", 1]), (dict[str, str], {"a": 0.5})):
        with pytest.raises(Unfit):
            read(kind, "", value)
