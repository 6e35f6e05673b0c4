"""A script's own random generators go on where they were."""

from __future__ import annotations

import json
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pitstop.engine.randomness import script_random
from pitstop.engine.randomness.script_random import ScriptRandom, same
from pitstop.engine.values.python_state import Encoder, decode

MAKERS: dict[str, Callable[[], Any]] = {
    "default_rng": lambda: np.random.default_rng(1),
    "MT19937": lambda: np.random.Generator(np.random.MT19937(1)),
    "Philox": lambda: np.random.Generator(np.random.Philox(1)),
    "SFC64": lambda: np.random.Generator(np.random.SFC64(1)),
    "RandomState": lambda: np.random.RandomState(1),
    "Random": lambda: random.Random(1),
}


NOTHING: frozenset[type] = frozenset()


def looking(*generators: Any) -> ScriptRandom:
    streams = ScriptRandom()
    streams.look({f"g{index}": each for index, each in enumerate(generators)}, NOTHING.__contains__)
    return streams


def own(streams: ScriptRandom) -> dict[str, Any]:
    """Without what other test modules keep."""
    return {name: state for name, state in streams.capture().items() if name.startswith("g")}


def stored_and_loaded(value: Any) -> Any:
    encoder = Encoder("")
    text = json.dumps(encoder.encode(value))
    arrays = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    return decode(json.loads(text), arrays)


def drawn(generator: Any) -> list[float]:
    # A normal number leaves a second one behind in the older kinds.
    draw = generator.gauss if isinstance(generator, random.Random) else generator.normal
    return [float(draw(0.0, 1.0)) for _ in range(5)]


@pytest.mark.parametrize("name", MAKERS)
def test_a_generator_goes_on_in_another_process(name: str) -> None:
    stopped, resumed = MAKERS[name](), MAKERS[name]()
    drawn(stopped)
    saved = stored_and_loaded(own(looking(stopped)))
    looking(resumed).restore(saved)
    assert drawn(resumed) == drawn(stopped)


def test_it_spawns_the_next_ones() -> None:
    stopped, resumed = np.random.default_rng(1), np.random.default_rng(1)
    stopped.spawn(2)
    looking(resumed).restore(stored_and_loaded(own(looking(stopped))))
    assert drawn(resumed.spawn(1)[0]) == drawn(stopped.spawn(1)[0])


def test_a_seed_sequence_spawns_the_next_ones_and_is_made_again() -> None:
    stopped, resumed = np.random.SeedSequence(1), np.random.SeedSequence(1)
    stopped.spawn(2)
    saved = stored_and_loaded(own(looking(stopped)))
    looking(resumed).restore(saved)
    made = script_random.make(script_random.form_of(stopped), saved["g0"])
    expected = stopped.spawn(1)[0].generate_state(2).tolist()
    for each in (resumed, made):
        assert each.spawn(1)[0].generate_state(2).tolist() == expected
    assert looking(np.random.SeedSequence(2)).missing(saved) == ["g0"]


def test_one_that_would_spawn_others_is_named() -> None:
    generator = np.random.default_rng(1)
    generator.spawn(1)
    assert looking(np.random.default_rng(2)).missing(own(looking(generator))) == ["g0"]


@pytest.mark.parametrize("name", MAKERS)
def test_one_is_made_again(name: str) -> None:
    generator = MAKERS[name]()
    drawn(generator)
    state = stored_and_loaded(script_random.state_of(generator))
    made = script_random.make(script_random.form_of(generator), state)
    assert type(made) is type(generator)
    assert drawn(made) == drawn(generator)


@pytest.mark.parametrize(
    ("form", "state"),
    [
        ("Random", (3, (1, 2), None)),
        ("RandomState", {"bit_generator": "MT19937"}),
        ("PCG64", {"bit_generator": "PCG64", "state": {"state": -1, "inc": 1 << 200}}),
        ("PCG64", {"seeds": {"entropy": "x"}}),
        ("PCG64", {"seeds": {"entropy": 1, "pool_size": 1 << 30}}),
        ("SeedSequence", {"seeds": {"entropy": 1 << 100_000}}),
        ("SeedSequence", {"seeds": {"entropy": 1, "spawn_key": [0] * 1000}}),
        ("os", {}),
    ],
)
def test_a_malformed_state_makes_none(form: str, state: Any) -> None:
    with pytest.raises(ValueError, match=r"malformed|state|seed"):
        script_random.make(form, state)


@pytest.mark.parametrize("name", ["MT19937", "Philox", "RandomState"])
@pytest.mark.parametrize("place", [-1, 625, 1 << 30])
def test_a_place_outside_of_the_buffer_is_refused(name: str, place: int) -> None:
    generator = MAKERS[name]()
    state = script_random.state_of(generator)
    if name == "Philox":
        state["buffer_pos"] = place
    else:
        state["state"]["pos"] = place
    with pytest.raises(ValueError, match="outside of its buffer"):
        script_random.set_state(generator, state)


def test_so_is_one_of_the_older_form() -> None:
    kind, key, _, *rest = np.random.RandomState(1).get_state()
    with pytest.raises(ValueError, match="outside of its buffer"):
        script_random.in_bounds((kind, key, 1 << 30, *rest))


def test_the_global_stream_is_not_made_again() -> None:
    assert script_random.form_of(np.random.mtrand._rand) == ""


def test_what_has_no_saved_state_is_left_alone() -> None:
    generator = np.random.default_rng(1)
    looking(generator).restore({})
    assert drawn(generator) == drawn(np.random.default_rng(1))


def test_a_generator_that_is_gone_is_named() -> None:
    saved = own(looking(np.random.default_rng(1), random.Random(2)))
    assert looking(np.random.default_rng(1)).missing(saved) == ["g1"]


@pytest.mark.parametrize(
    ("before", "now"), [("default_rng", "SFC64"), ("Random", "default_rng"), ("MT19937", "Random")]
)
def test_a_generator_of_another_kind_is_left_alone(before: str, now: str) -> None:
    saved = own(looking(MAKERS[before]()))
    generator = MAKERS[now]()
    streams = looking(generator)
    streams.restore(saved)
    assert streams.missing(saved) == ["g0"]
    assert drawn(generator) == drawn(MAKERS[now]())


def test_global_streams_and_the_systems_are_not_the_scripts() -> None:
    streams = looking(np.random.mtrand._rand, random.random, random.SystemRandom())
    assert own(streams) == {}


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.array([0, 1, 3]), False),
        ((1, [np.arange(2)]), (1, [np.arange(2)]), True),
        ({"a": (1, None)}, {"a": (1, None)}, True),
        ({"a": 1}, {"b": 1}, False),
        ((1, 2), (1,), False),
        (None, np.arange(1), False),
    ],
)
def test_states_are_compared_with_their_arrays(a: Any, b: Any, equal: bool) -> None:
    assert same(a, b) is equal


def test_a_generator_keeps_its_name_when_attributes_change_places() -> None:
    one, other, later = np.random.default_rng(1), np.random.default_rng(2), random.Random(3)
    streams = looking(one, other)
    before = own(streams)
    streams.look({"g0": other, "g1": later, "g2": one}, NOTHING.__contains__)
    now = own(streams)
    assert {name: now[name] for name in before} == before
    assert set(now) - set(before) == {"g1#"}


def test_generators_that_are_not_among_the_streams_are_named() -> None:
    one, other = np.random.default_rng(1), np.random.default_rng(2)
    assert looking(one).lacks({"found": one, "hidden": other}) == ["hidden"]


def test_the_generator_of_a_library_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `seed` gives the name to another one."""
    library = types.ModuleType("augments")
    library.__file__ = "/opt/lib/python3/site-packages/augments.py"
    vars(library).update(rng=np.random.default_rng(1), names=["flip"])
    monkeypatch.setitem(sys.modules, "augments", library)
    looking()
    vars(library).update(rng=np.random.default_rng(2))
    streams = looking()
    saved = streams.capture()
    expected = drawn(vars(library)["rng"])
    streams.restore(saved)
    assert ("augments:rng" in saved, drawn(vars(library)["rng"])) == (True, expected)
