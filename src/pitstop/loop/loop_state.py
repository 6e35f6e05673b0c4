"""Everything that a custom loop needs to go on, cut and restored as one.

The first step of a compiled model creates variables while it is traced: one step with zeros is done
before the state is restored.
"""

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.exactness import EXACT, not_exact
from pitstop.engine.fence import fenced, observing
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.hooking import Original
from pitstop.engine.session import first_training
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.engine.trainings.present_identity import identity_of_present_call
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.errors import ResumeRefused
from pitstop.loop.tracked import Tracked, leaves_of, track, variables_of
from pitstop.tensorflow import (
    counted_draws,
    devices,
    earlier_traces,
    graph_digest,
    private,
    randomness,
)
from pitstop.tensorflow.function_draws import FunctionDraws
from pitstop.tensorflow.script_loop import ScriptLoop
from pitstop.tensorflow.traced_ops import OpKind
from pitstop.tensorflow.variables.naming import Naming
from pitstop.tensorflow.variables.variables import VariableRegistry

_HIDDEN = (
    "{} draws from a hidden random stream ({}); use tf.random.Generator, keras.random with a "
    f"SeedGenerator, or a Keras layer (with Keras 2, {randomness.WITH_KERAS_2})"
)
_SAME_NAME = (
    "two functions with the name {} draw random numbers, which a resume may take for each other"
)


class LoopDraws(FunctionDraws):
    """Random ops in functions that the script calls between its steps.

    Those that can be counted are, and there is a doubt of each other one.
    """

    def __init__(self, doubt: Callable[[str], None]) -> None:
        super().__init__()
        self._doubt = doubt
        self._inputs: dict[str, list[str]] = {}  # of functions that are not called yet
        self._looked_at: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def watch(self) -> None:
        counted_draws.watch()
        private.around_function_calls(self._lead)

    def _lead(self, original: Original, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():
            return original(function, *args, **kwargs)
        with fenced(spoils=True):
            self.begins(function)
            if self._inputs:
                inputs = self._inputs.pop(self._names.get(function, ""), [])
                earlier_traces.expect(function, inputs)
        result = original(function, *args, **kwargs)
        self._look(function)
        return result

    def inputs(self) -> dict[str, list[str]]:
        """Those that functions were traced for; not of several with one name."""
        known = {name: each for each, name in self._names.items() if self._counts[name] == 1}
        found = {name: earlier_traces.inputs_of(each) for name, each in known.items()}
        return self._inputs | {name: inputs for name, inputs in found.items() if inputs}

    def expect(self, inputs: Mapping[str, list[str]]) -> None:
        """Lets functions that are called later be traced for what they were traced for before."""
        self._inputs = dict(inputs)

    @observing(spoils=True)
    def _look(self, function: Any) -> None:
        self._doubt(self.returned(function))
        traces = private.traces(function)
        if self._looked_at.get(function) == traces:
            return
        self._looked_at[function] = traces
        name = private.function_name(function)
        kinds = graph_digest.kinds_of(function)
        self._doubt(devices.doubt_of(kinds).format(name))
        if OpKind.RANDOM in kinds:
            self._doubt(_HIDDEN.format(name, kinds[OpKind.RANDOM]))
        if len([each for each in self.capture() if each.partition("#")[0] == name]) > 1:
            self._doubt(_SAME_NAME.format(name))


class LoopState:
    """The variables of the process, its random streams, and the objects that were named.

    `level`: of a resume, known after the first cut.
    """

    def __init__(self, objects: Mapping[str, Any], registry: VariableRegistry) -> None:
        """Looks at the objects; `CannotTrack` where one can be neither read nor set in place."""
        self.level = EXACT
        self._objects: dict[str, Tracked] = {
            name: track(name, value) for name, value in objects.items()
        }
        self._named = dict(objects)
        self._registry = registry
        self._paths: dict[int, str] = {}
        self.draws = LoopDraws(self.doubt)
        self._models = BuiltModels(objects, registry.naming)
        registry.adopt(variable for _, variable in variables_of(objects))

    def cut(self, loop: ScriptLoop, metrics: Mapping[str, float], milestone: str) -> StateCapture:
        encoder = Encoder("python/")
        held = self._registry.hold(self._path_of)
        captured = {name: each.capture(encoder) for name, each in self._objects.items()}
        self.doubt(APPENDED.settle())
        self.doubt("; ".join(each.doubt for each in self._objects.values() if each.doubt))
        own = {
            "loop": {
                "objects": {name: described for name, (described, _) in captured.items()},
                "built": encoder.encode(self._models.forms),
                "metrics": encoder.encode(dict(metrics)),
                "draws": self.draws.capture(),
                "inputs": self.draws.inputs(),
                "model_inputs": self._models.inputs(),
            },
        }
        beside = [tensor for _, tensors in captured.values() for tensor in tensors]
        return loop.capture(milestone, self.level, held, encoder, own, beside)

    def digests(self) -> dict[str, str]:
        """How the first loop of a run begins, see `first_training`."""
        streams = {**randomness.capture(), **randomness.of_generators(), **self._registry.seeds()}
        present = identity_of_present_call(randomness.script_seed())
        return first_training.digests(present, streams)

    def restore(self, saved: SavedState) -> None:
        """Brings everything to a saved cut; `ResumeRefused`, see `check`, or for another model."""
        self.check(saved)
        self.build(saved)
        self._registry.restore(saved, self._path_of)
        for name in self._objects:
            self.restore_object(name, saved)
        randomness.restore(decode(saved.state["random"], saved.tensors))
        self.draws.restore(saved.state["loop"]["draws"])

    def settle(self, saved: SavedState) -> None:
        """The first step is over; `ResumeRefused` where it created other variables than before."""
        self.doubt(self._registry.settle(saved, self._path_of))

    def doubt(self, reason: str) -> None:
        if reason and self.level is EXACT:
            self.level = not_exact(reason)

    def check(self, saved: SavedState) -> None:
        """Raises `ResumeRefused` where a saved cut is of other objects, or of a `fit`."""
        loop = saved.state.get("loop")
        if loop is None:
            raise ResumeRefused(
                "This run was saved by `model.fit`, but the script now has a custom loop.",
                "Use the old script, or start over in another run folder.",
            )
        if loop["objects"].keys() != self._objects.keys():
            raise ResumeRefused(
                f"The run has saved {_names(loop['objects'])}, but the script now passes "
                f"{_names(self._objects)}.",
                "Pass the same objects to pitstop.start, or start over in another run folder.",
            )

    def build(self, saved: SavedState) -> None:
        loop = saved.state["loop"]
        self.draws.expect(loop.get("inputs", {}))
        forms = decode(loop["built"], saved.tensors)
        self._models.build(forms, loop.get("model_inputs", {}))

    def restore_object(self, name: str, saved: SavedState) -> None:
        self._objects[name].restore(saved.state["loop"]["objects"][name], saved.tensors)

    def _path_of(self, variable: Any) -> str:
        path = self._paths.get(id(variable))
        if path is None:
            self._paths = {id(each): name for name, each in variables_of(self._named)}
            path = self._paths.setdefault(id(variable), "")
        return path


def _names(objects: Mapping[str, Any]) -> str:
    return ", ".join(objects) or "no objects"


class BuiltModels:
    """The models among the objects of a loop, and the form of the first batch of each."""

    def __init__(self, objects: Mapping[str, Any], names: Naming) -> None:
        found = leaves_of(objects) if "keras" in sys.modules else ()
        self._models = {name: each for name, each in found if hasattr(type(each), "train_on_batch")}
        self.forms: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        if self._models:
            # Only here: a script without Keras must not wait for its import.
            from pitstop.keras import private  # noqa: PLC0415
            from pitstop.keras.models.model_functions import ModelFunctions  # noqa: PLC0415

            self._functions = {name: ModelFunctions(each) for name, each in self._models.items()}
            private.on_train_batch(self._trains)
            private.watch_names(names)

    def inputs(self) -> dict[str, dict[str, list[str]]]:
        """By name of a model, those that its steps were traced for."""
        return {name: each.inputs() for name, each in self._functions.items()}

    def build(
        self, forms: Mapping[str, Any], inputs: Mapping[str, Mapping[str, list[str]]]
    ) -> None:
        for name, functions in self._functions.items():
            functions.expect(inputs.get(name, {}))
        for name, form in forms.items():
            if name in self._models:
                self._models[name].train_on_batch(*tf.nest.map_structure(_zeros, form))

    def _trains(self, model: Any, batch: tuple[Any, ...]) -> None:
        if len(self.forms) < len(self._models):
            for name, each in self._models.items():
                if each is model:
                    self.forms[name] = tf.nest.map_structure(_form, batch)


def _form(array: Any) -> str | None:
    if array is None:
        return None
    shape = ",".join(str(size) for size in np.shape(array))
    return f"{np.asarray(array).dtype.name}[{shape}]"


def _zeros(form: str | None) -> Any:
    if form is None:
        return None
    dtype, _, sizes = form.removesuffix("]").partition("[")
    return np.zeros(
        [int(size) for size in sizes.split(",") if size], tf.as_dtype(dtype).as_numpy_dtype
    )
