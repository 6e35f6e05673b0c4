"""What functions were traced with, compared with those that a resume traces again.

They are those of the model, of the script, and of other models that it trains or asks meanwhile.

A function keeps the Python values that it reads as they were when it was traced. A script may
change them later, without an effect; a function that is traced then has the later ones.
"""

import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.engine.values.reachable import find_used
from pitstop.keras.common_private import layers_of
from pitstop.keras.packages import SOURCES, kinds
from pitstop.keras.script_library import names_set_by_libraries
from pitstop.tensorflow import counted_draws, earlier_traces, private
from pitstop.tensorflow.counted_draws import Draws
from pitstop.tensorflow.devices import doubt_of
from pitstop.tensorflow.graph_digest import Kinds, look
from pitstop.tensorflow.pipelines.stages import functions
from pitstop.tensorflow.randomness import is_part_of_an_input
from pitstop.tensorflow.traced_ops import OpKind

_CHANGED = (
    "{} changes each time a step is traced, which a resume does once more; keep what a step counts "
    "in a tf.Variable"
)


class TraceNumbers:
    """What code of the script changes while a step is traced.

    A resume sets it as it was, and traces the step again, which would change it once more. Numbers
    in attributes of a model and its layers are put back; what else changes is doubted. `run`: the
    `fit` whose objects are watched, if any.
    """

    def __init__(self, model: Any, run: Any = None) -> None:
        self._model = model
        # In Keras 2, each trace changes what a layer keeps of its calls.
        is_watched = run is not None and not hasattr(model, "_thread_local")
        self._run = weakref.ref(run) if is_watched else lambda: None
        self._kept: list[tuple[Any, str, int | float]] = []
        self._before: dict[str, Any] = {}

    @observing()
    def keep(self) -> None:
        self._kept = [
            (owner, name, value)
            for owner in (self._model, *layers_of(self._model))
            for name, value in vars(owner).items()
            if type(value) in (int, float) and name not in names_set_by_libraries(owner.__class__)
        ]
        self._before = self._state()

    def _state(self) -> dict[str, Any]:
        run = self._run()
        with tf.init_scope():  # A function may be traced inside of another one.
            return run.state_of_script() if run is not None else {}

    @observing()
    def put_back(self) -> None:
        for owner, name, value in self._kept:
            if vars(owner).get(name) != value:
                setattr(owner, name, value)
        if (run := self._run()) is not None:
            now = self._state()
            changed = [name for name in now if now[name] != self._before.get(name)]
            run.doubt(_CHANGED.format(changed[0]) if changed else "")


_NAMES = ("train_function", "test_function", "predict_function")
_OTHER = (
    "{} was traced again with other Python values: the script has changed a value "
    "that it read as a constant; keep it in a tf.Variable"
)
_OTHER_INPUTS = (
    "{} was traced for other inputs than before, and TensorFlow chooses between its graphs by the "
    "order of these; the last bit may differ"
)
_KNOWN: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
"""By signature, the digests of the functions of this process, and of those they stand for."""
_SEEN: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many traces of a function had been compared."""
_EARLIER: weakref.WeakKeyDictionary[Any, frozenset[str]] = weakref.WeakKeyDictionary()
"""The signatures that a function was traced for before, where its inputs are not known."""
_KINDS: weakref.WeakKeyDictionary[Any, Kinds] = weakref.WeakKeyDictionary()
"""What ops of a function do."""


class ModelFunctions:
    def __init__(self, model: Any) -> None:
        self._models = {"": model}  # by name; empty for the one of the `fit`
        self._looked_at = -1
        self._of_script: list[Any] = []
        self._saved: Mapping[str, Mapping[str, str]] = {}
        self._inputs: dict[str, list[str]] = {}
        self.places: dict[str, str] = {}  # where the training step traced random ops, by type
        self.draws = ""  # which function draws from a hidden stream; empty where none does
        self.compiled = ""  # what XLA does that a resume may do otherwise; empty for nothing

    def begin(self, roots: list[Any]) -> None:
        """`roots`: what the training calls."""
        model = self._models[""]
        found = _used_by([*roots, model], private.FUNCTIONS)
        own = [each for each in found if not _is_of_keras(each)]
        inputs = _used_by([*roots, model], (tf.data.Dataset,)) if own else []
        # The level of a pipeline tells what these draw.
        of_inputs = [each for dataset in inputs for _, each in functions(dataset)]
        self._of_script = [each for each in own if not any(each is other for other in of_inputs)]
        others = [each for each in _used_by(roots, kinds("Model")) if each is not model]
        self._models |= _numbered(others, lambda each: str(each.name))

    def look(self) -> str:
        """Why a function is not the one that was saved; empty where nothing says so."""
        if self._looked_at == private.TracedOps.count:
            return ""
        self._looked_at, other = private.TracedOps.count, ""
        for name, function in self._functions():
            traces = private.traces(function)
            if (counted := counted_draws.of(function)) is not None:
                other = other or counted.doubt.format(_in_words(name, function))
            if _SEEN.get(function) != traces:
                _SEEN[function] = traces
                other = self._compare(name, function) or other
            self._note_kinds(name, function)
        return other

    def _compare(self, name: str, function: Any) -> str:
        """Why a trace is not the one that was saved, or empty."""
        # One of a model that is made anew may have other values, as without an interruption.
        saved = {} if _is_of_model(name) else self._saved.get(name, {})
        known, other = _KNOWN.setdefault(function, dict(saved)), ""
        digests, _KINDS[function] = look(function)
        earlier = _EARLIER.get(function, frozenset[str]())
        if digests.keys() - earlier and earlier - digests.keys():
            other = _OTHER_INPUTS.format(_in_words(name, function))
        for signature, digest in digests.items():
            is_other = known.setdefault(signature, digest) != digest
            if is_other and digest not in _of_equal_arguments(known, signature):
                other = _OTHER.format(_in_words(name, function))
        return other

    def _note_kinds(self, name: str, function: Any) -> None:
        found = _KINDS.get(function, {})
        if compiled := doubt_of(found):
            self.compiled = compiled.format(_in_words(name, function))
        if drawn := found.get(OpKind.RANDOM):
            where = f" at {self.places[drawn]}" if drawn in self.places else ""
            self.draws = f"{_in_words(name, function)} draws from a hidden random stream "
            self.draws += f"({drawn}{where})"

    def capture(self) -> dict[str, Mapping[str, str]]:
        known = ((name, dict(_KNOWN.get(each, {}))) for name, each in self._functions())
        # A method of the script that this attempt has not called yet keeps what was saved.
        waiting = {name: saved for name, saved in self._saved.items() if not _is_of_model(name)}
        return waiting | {name: found for name, found in known if found or name in _NAMES}

    def draws_so_far(self) -> dict[str, Draws]:
        counted = ((name, each, counted_draws.of(each)) for name, each in self._functions())
        found = (
            (name, each.capture(private.graphs(f) if each.are_any else ()))
            for name, f, each in counted
            if each
        )
        return {name: draws for name, draws in found if draws}

    def inputs(self) -> dict[str, list[str]]:
        found = ((name, earlier_traces.inputs_of(each)) for name, each in self._functions())
        return self._inputs | {name: inputs for name, inputs in found if inputs}

    def expect(self, inputs: Mapping[str, list[str]], run: Any = None) -> None:
        """Lets the functions be traced for what they were traced for before."""
        self._inputs = dict(inputs)
        self._make(inputs)
        for name, function in self._functions():
            model = self._models[_model_of(name)] if _is_of_model(name) else None
            numbers = None if model is None else TraceNumbers(model, run)
            earlier_traces.expect(function, inputs.get(name, []), numbers)

    def restore(
        self,
        saved: Mapping[str, Mapping[str, str]],
        draws: Mapping[str, Draws],
        inputs: Mapping[str, list[str]],
        run: Any = None,
    ) -> None:
        """`run`: the `fit` whose objects are watched while a function is traced again."""
        self._saved = saved
        self._make([name for name, found in saved.items() if found])
        self.expect(inputs, run)
        for name, function in self._functions():
            _KNOWN[function] = dict(saved.get(name, {}))
            if name not in inputs and earlier_traces.generalizes(function):
                _EARLIER[function] = frozenset(saved.get(name, ()))
            _SEEN.pop(function, None)
            if (counted := counted_draws.of(function)) is not None:
                counted.restore(draws.get(name, {}))
        self._looked_at = -1

    def _make(self, names: Collection[str]) -> None:
        """Makes the steps that had been traced; Keras keeps one, unless the model is compiled."""
        for other, model in self._models.items():
            for name in _NAMES:
                if any(_key(name, depth, other) in names for depth in (0, 1)):
                    getattr(model, f"make_{name}")()

    def _functions(self) -> Iterator[tuple[str, Any]]:
        for other, model in self._models.items():
            for name in _NAMES:
                behind = private.functions_behind(getattr(model, name, None))
                for depth, function in enumerate(behind):
                    yield _key(name, depth, other), function
        bound = [each for function in self._of_script for each in private.with_bound(function)]
        yield from _numbered(bound, private.function_name).items()


def _of_equal_arguments(known: Mapping[str, str], signature: str) -> list[str]:
    """Objects as arguments may come in another order than before."""
    bare = signature.partition("#")[0]
    return [digest for each, digest in known.items() if each.partition("#")[0] == bare]


def _used_by(roots: list[Any], wanted: tuple[type, ...]) -> list[Any]:
    return find_used(roots, wanted, is_part_of_an_input, in_collections=True)


def _numbered(things: Iterable[Any], name_of: Callable[[Any], str]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    found = {}
    for each in things:
        name = name_of(each)
        counts[name] += 1
        found[f"{name}#{counts[name]}" if counts[name] > 1 else name] = each
    return found


def _is_of_keras(function: Any) -> bool:
    python_function = getattr(function, "python_function", None)
    return str(getattr(python_function, "__module__", "")).startswith(SOURCES)


def _key(name: str, depth: int, model: str) -> str:
    """`train_function`, `train_function/1` for that of a batch in it, `train_function/0/critic`."""
    return f"{name}/{depth}/{model}" if model else f"{name}/{depth}" if depth else name


def _model_of(key: str) -> str:
    return key.partition("/")[2].partition("/")[2]


_OWN_STEP = (_NAMES[0], _key(_NAMES[0], 1, ""))


def _is_of_model(name: str) -> bool:
    return name.partition("/")[0] in _NAMES


def _in_words(name: str, function: Any) -> str:
    if name in _OWN_STEP:
        return "the training step"
    if not _is_of_model(name):
        return private.function_name(function)
    return f"{name.partition('/')[0]} of {_model_of(name) or 'the model'}"
