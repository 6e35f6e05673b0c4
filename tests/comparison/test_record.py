"""The state beside the variables, as named digests."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pitstop.comparison import record
from pitstop.comparison.record import differing, is_decisive, read_facts

STATE: dict[str, Any] = {
    "random": {
        "python": {"$tuple": [3, [1, 2], None]},
        "numpy": {"$tuple": ["MT19937", {"$array": ["python/0000", "<u4", [4]]}, 7]},
        "tensorflow_seed": 7,
        "tensorflow_eager": None,
    },
    "fit_random": {"python": [1]},
    "fit": {
        "stop_training": False,
        "callbacks": [
            {"class": "EarlyStopping", "attributes": {"best": 0.5, "wait": 1}},
            {"class": "Trace", "attributes": {"loss": {"$floats": "python/0001"}}},
        ],
        "data": {"adapter": "ArrayDataAdapter"},
        "input": {"drawn": 3, "created": 1, "replay": False},
        "logs": {"loss": 0.5},
    },
}
DIGESTS = {"python/0000": "aa", "python/0001": "bb", "input/iterator": "cc"}


def _with(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(STATE)
    inner: Any = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("random", "python"), "Python's random stream"),
        (("random", "tensorflow_seed"), "TensorFlow's seed"),
        (("fit_random", "python"), "the random streams when fit began"),
        (("fit", "input", "drawn"), "batches drawn from the input"),
        (("fit", "input", "created"), "passes over the input"),
        (("fit", "stop_training"), "stop_training"),
        (("fit", "callbacks", 0, "attributes", "wait"), "callback 1 (EarlyStopping): wait"),
    ],
)
def test_a_change_is_named(path: tuple[str | int, ...], name: str) -> None:
    before, after = read_facts(STATE, DIGESTS), read_facts(_with(path, "other"), DIGESTS)
    assert differing(before, after) == (name,)


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        ("python/0000", "NumPy's random stream"),
        ("python/0001", "callback 2 (Trace): loss"),
        ("input/iterator", record.ITERATOR),
    ],
)
def test_arrays_count_by_their_content(tensor: str, name: str) -> None:
    changed = DIGESTS | {tensor: "other"}
    assert differing(read_facts(STATE, DIGESTS), read_facts(STATE, changed)) == (name,)


def test_what_a_callback_refers_to_counts_as_its_own() -> None:
    def referring(content: list[float]) -> dict[str, Any]:
        node = {"kind": "list", "form": "list", "content": content}
        itself = {"kind": "list", "form": "list", "content": [{"$ref": "itself"}]}
        state = _with(("fit", "objects"), {"cut": {"losses": node, "itself": itself}})
        attributes = {"loss": {"$ref": "losses"}, "all": {"$ref": "itself"}}
        state["fit"]["callbacks"] = [{"class": "Trace", "attributes": attributes}]
        return state

    one, other = referring([0.5]), referring([0.25])
    assert differing(read_facts(one, {}), read_facts(one, {})) == ()
    assert differing(read_facts(one, {}), read_facts(other, {})) == ("callback 1 (Trace): loss",)


def test_where_an_array_is_stored_does_not_count() -> None:
    moved = _with(("fit", "callbacks", 1, "attributes", "loss"), {"$floats": "python/0009"})
    digests = {**DIGESTS, "python/0009": DIGESTS["python/0001"]}
    assert differing(read_facts(STATE, DIGESTS), read_facts(moved, digests)) == ()


def test_a_state_without_a_fit_has_facts_too() -> None:
    assert differing(read_facts({}, {}), read_facts({}, {})) == ()
    assert record.RANDOM[0] in differing(read_facts({}, {}), read_facts(STATE, DIGESTS))


def test_a_callback_of_one_side_only_differs() -> None:
    one_less = _with(("fit", "callbacks"), STATE["fit"]["callbacks"][:1])
    found = differing(read_facts(one_less, DIGESTS), read_facts(STATE, DIGESTS))
    assert found == ("callback 2 (Trace): loss",)


@pytest.mark.parametrize(
    ("name", "read_ahead", "decisive"),
    [
        (record.RANDOM[1], False, True),
        (record.RANDOM[1], True, False),
        (record.POSITION[0], True, True),
        (record.ITERATOR, False, False),
        ("callback 1 (Timer): started", False, False),
    ],
)
def test_what_makes_runs_different(name: str, read_ahead: bool, decisive: bool) -> None:
    assert is_decisive(name, read_ahead=read_ahead) is decisive
