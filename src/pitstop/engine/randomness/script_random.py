"""Random generators that a script keeps for itself: their states, and which are shared."""

import random
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pitstop.engine.audit_events import identity
from pitstop.engine.exactness import Exactness, not_exact
from pitstop.engine.values import reachable
from pitstop.engine.values.code_names import names_in
from pitstop.engine.values.reachable import Opened

KINDS: tuple[type, ...] = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
    random.Random,
)
"""Classes whose state is known to be all there is of them."""

_BITS: Mapping[str, Any] = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
_MADE: tuple[type, ...] = (random.Random, np.random.RandomState)
_MOST_CHILDREN = 100_000
_MOST_WORDS = 256
"""Of a `SeedSequence`, which takes time by their square."""
_LONGEST_BUFFER = {"MT19937": 624, "Philox": 4}
_MAKERS = frozenset({"default_rng", "RandomState", "Generator", "Random", "seed"})

# They belong to the global streams, also where the script has names for them.
_GLOBAL = (getattr(random.random, "__self__", None), np.random.mtrand._rand)
_GETSTATE = random.Random.getstate

_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "numpy")
_LOOKED_AT: set[str] = set()  # modules, each of which is looked at once
_IN_LIBRARIES: dict[str, list[str]] = {}
"""Names of globals that are generators, by module that has some."""


def in_libraries() -> dict[str, Any]:
    """Generators that libraries have as globals, such as one that changes images at random."""
    modules = reachable.library_modules()
    # Both only grow.
    for module in modules.keys() - _LOOKED_AT if len(modules) > len(_LOOKED_AT) else ():
        names = vars(modules[module]).copy() if module.split(".")[0] not in _FRAMEWORKS else {}
        if kept := [name for name, each in names.items() if is_kept(each)]:
            _IN_LIBRARIES[module] = kept
        _LOOKED_AT.add(module)
    return {
        f"{module}:{name}": vars(modules[module])[name]
        for module, names in sorted(_IN_LIBRARIES.items())
        for name in names
        if module in modules and is_kept(vars(modules[module]).get(name))
    }


class ScriptRandom:
    """The generators found so far, by the names under which the script reaches them."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def look(self, roots: Mapping[str, Any], opened: Opened) -> None:
        found = reachable.find(roots, KINDS, opened) | in_libraries()
        own = {name: each for name, each in found.items() if is_kept(each)}
        # Under the name that each had first: an attribute may name another one now.
        first = {identity(each): name for name, each in self._found.items()}
        kept = {first[identity(each)]: each for each in own.values() if identity(each) in first}
        for name, each in own.items():
            if identity(each) not in first:
                kept[f"{name}#" if name in kept else name] = each
        self._found = kept

    def capture(self) -> dict[str, Any]:
        return {name: state_of(generator) for name, generator in self._found.items()}

    def restore(self, states: Mapping[str, Any]) -> None:
        for name in states.keys() - set(self.missing(states)):
            set_state(self._found[name], states[name])

    def lacks(self, named: Mapping[str, Any]) -> list[str]:
        known = set(map(identity, self._found.values()))
        return sorted(name for name, each in named.items() if identity(each) not in known)

    def missing(self, states: Mapping[str, Any]) -> list[str]:
        return sorted(
            name
            for name, state in states.items()
            if name not in self._found or not _fits(self._found[name], state)
        )


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal, arrays inside of them included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def is_kept(value: Any) -> bool:
    return issubclass(type(value), KINDS) and has_own_state(value)


def has_own_state(generator: Any) -> bool:
    if isinstance(generator, random.Random) and type(generator).getstate is not _GETSTATE:
        # The system's, which has no state, or a class that keeps another.
        return False
    return not any(generator is each for each in _GLOBAL)


def _fits(generator: Any, state: Any) -> bool:
    own = state_of(generator)
    if isinstance(own, dict) and isinstance(state, dict):
        is_alike = bool(own["bit_generator"] == state["bit_generator"])
        return is_alike and _can_spawn_as(own.get("seeds"), state.get("seeds"))
    return type(own) is type(state)


def _can_spawn_as(own: Any, saved: Any) -> bool:
    """Whether its next child can be the one that was next then; by then it may have had none."""
    if not saved or not saved["n_children_spawned"]:
        return True
    more = saved["n_children_spawned"] - own["n_children_spawned"] if own else -1
    names = ("entropy", "spawn_key")
    return 0 <= more <= _MOST_CHILDREN and all(same(own[each], saved[each]) for each in names)


def state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    bits, seeds = _bits(generator), _seeds(generator)
    own = {"bit_generator": ""} if bits is seeds else bits.state
    return own | ({"seeds": seeds.state} if type(seeds) is np.random.SeedSequence else {})


def set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(in_bounds(state))
    else:
        bits, seeds = _bits(generator), _seeds(generator)
        if bits is not seeds:
            bits.state = in_bounds(state)
        if "seeds" in state:
            more = state["seeds"]["n_children_spawned"] - seeds.n_children_spawned
            seeds.spawn(min(max(0, more), _MOST_CHILDREN))


def in_bounds(state: Any) -> Any:
    """The same state; `ValueError` for a place outside of its buffer, which NumPy would read."""
    if isinstance(state, dict):
        kind = state["bit_generator"]
        place = state["state"]["pos"] if kind == "MT19937" else state.get("buffer_pos", 0)
    else:
        kind, _, place, *_ = state
    if not 0 <= int(place) <= _LONGEST_BUFFER.get(kind, 0):
        raise ValueError(f"the state of {kind} is at {place}, outside of its buffer")
    return state


def form_of(generator: Any) -> str:
    """How `make` makes such a generator; empty where only its class can make one."""
    kind = type(generator)
    bits = type(_bits(generator)) if kind is np.random.Generator else None
    is_own = kind in _MADE or kind is np.random.SeedSequence
    is_made = is_own or (bits is not None and _BITS.get(bits.__name__) is bits)
    return (bits or kind).__name__ if is_made and has_own_state(generator) else ""


def make(form: str, state: Any) -> Any:
    """A generator with this state; `ValueError` where the state is of none."""
    try:
        seeds = _made_seeds(**state["seeds"]) if "seeds" in state else None
        if form in _BITS:
            generator = np.random.Generator(_BITS[form](seeds))
        elif form == np.random.SeedSequence.__name__:
            return _made_seeds(**state["seeds"])
        else:
            generator = next(kind() for kind in _MADE if kind.__name__ == form)
        set_state(generator, state)
    except (LookupError, TypeError, ValueError, OverflowError, StopIteration) as error:
        raise ValueError(f"the state of a {form} is malformed: {error!r}") from error
    return generator


def _made_seeds(
    entropy: Any, spawn_key: Any = (), pool_size: int = 4, n_children_spawned: int = 0
) -> np.random.SeedSequence:
    numbers = [*(entropy if np.iterable(entropy) else [entropy]), *spawn_key]
    words = sum(1 + int(each or 0).bit_length() // 32 for each in numbers)
    if max(words, pool_size) > _MOST_WORDS:
        raise ValueError(f"the seed of the state has more than {_MOST_WORDS} words")
    return np.random.SeedSequence(
        entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=n_children_spawned
    )


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator


def _seeds(generator: Any) -> Any:
    is_seeds = isinstance(generator, np.random.SeedSequence)
    return generator if is_seeds else getattr(_bits(generator), "seed_seq", None)


def level_of_shared(data: Any, callbacks: Sequence[Any], opened: Opened) -> Exactness | None:
    """Not exact where an input that reads ahead shares a generator with a callback; else None."""
    of_input = reachable.find_used(data, KINDS, opened)
    for callback in callbacks:
        for each in reachable.find_used(callback, KINDS, opened, without=data):
            if any(each is other for other in of_input):
                return not_exact(
                    f"the input, which is read ahead, and {type(callback).__name__} use the same "
                    "random generator: not repeatable even without an interruption; give each "
                    "its own"
                )
    return None


def level_of_workers(dataset: Any) -> Exactness | None:
    """Not exact where workers of a `PyDataset` draw from a generator that lasts; else None."""
    workers = getattr(dataset, "workers", 1)
    if not isinstance(workers, int) or workers < 2 or not _draws_in_items(dataset):
        return None
    return not_exact(
        f"{workers} workers of {type(dataset).__name__} use the same random generator: not "
        "repeatable even without an interruption; derive random numbers from the item's index"
    )


def _draws_in_items(dataset: Any) -> bool:
    waiting, seen, draws = ["__getitem__"], set[str](), False
    own = getattr(dataset, "__dict__", {})
    for name in waiting:
        function = getattr(type(dataset), name, None)
        if not isinstance(function, types.FunctionType) or name in seen:
            continue
        seen.add(name)
        names = names_in(function.__code__)
        waiting += names
        if any(_is_off(own[each]) for each in names & own.keys()):
            # It may draw in another use of the class, such as the one that augments.
            return False
        used = [each.get(key) for each in (own, function.__globals__) for key in names]
        draws |= any(isinstance(each, KINDS) for each in used)
        of_module = any(each is random or each is np for each in used)
        draws |= of_module and "random" in names and names.isdisjoint(_MAKERS)
    return draws


def _is_off(value: Any) -> bool:
    return value is None or value is False or (type(value) is float and not value)
