"""What objects of Keras and TensorFlow have to do with the Python state of a script."""

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.script_state import holder
from pitstop.engine.values import reachable
from pitstop.engine.values.code_names import attributes_set_by
from pitstop.keras import tensorboard
from pitstop.keras.packages import SEQUENCES, SOURCES, imported, kinds
from pitstop.tensorflow import private as tensorflow_private
from pitstop.tensorflow import tables
from pitstop.tensorflow.randomness import is_part_of_an_input

_LIBRARIES = (*SOURCES, "tensorflow.")
_VARIABLES = ("Variable", "random.SeedGenerator")
_OPTIMIZERS = ("optimizers.Optimizer", "optimizers.legacy.Optimizer")
_LAYERS_AND_OPTIMIZERS = ("layers.Layer", *_OPTIMIZERS)
_WITHOUT_CODE = (
    *_VARIABLES,
    "KerasTensor",
    "DTypePolicy",
    "mixed_precision.Policy",
    "initializers.Initializer",
)
_VARIABLES_OR_WRITERS = (
    tf.Variable,
    tf.random.Generator,
    tf.summary.SummaryWriter,
    type(tf.summary.create_noop_writer().as_default()),
)
_SUMMARY_MODULE = tf.summary.SummaryWriter.__module__
"""Where TensorFlow keeps the contexts of its writers, too."""
_SET_BY_CALLBACKS = frozenset({"history"})  # Keras' list of callbacks sets it on a model
# The graph of a functional model leads to its layers, which are met anyway.
_SET_BY_AUTOGRAPH = frozenset({"ag_dnc_wrapper__", "autograph_info__"})
_NOT_FOLLOWED = (
    "keras.src.ops.node",
    "keras.src.utils.tracking",
    "keras.src.distribution",
    "tf_keras.src.backend",
    "tf_keras.src.engine.keras_tensor",
    "tf_keras.src.engine.node",
    "tf_keras.src.engine.input_spec",
)
_FOLLOWED = ("keras.src.", "tf_keras.src.")


class KerasLibrary:
    """See `script_state.library.Library`."""

    set_by_callbacks = _SET_BY_CALLBACKS

    def is_opened(self, kind: type) -> bool:
        return issubclass(kind, kinds("callbacks.Callback", *SEQUENCES))

    def is_followed(self, kind: type) -> bool:
        if issubclass(
            kind, (tf.Variable, tf.Tensor, *kinds(*_WITHOUT_CODE))
        ) or kind.__module__.startswith(_NOT_FOLLOWED):
            return False
        return kind.__module__.startswith(_FOLLOWED) or is_part_of_an_input(kind)

    def is_elsewhere(self, kind: type) -> bool:
        """Variables are saved by their registry, event files by their size."""
        of_keras = kinds(*_VARIABLES, *_LAYERS_AND_OPTIMIZERS)
        is_known = issubclass(kind, (*_VARIABLES_OR_WRITERS, *of_keras))
        return is_known or kind.__module__ == _SUMMARY_MODULE

    def script_fields(self, value: Any) -> dict[str, Any] | None:
        """Public attributes of models, layers and optimizers that no code of Keras sets."""
        if not isinstance(value, kinds(*_LAYERS_AND_OPTIMIZERS)):
            return None
        own = self.own_names(type(value))
        found = {
            name: each
            for name, each in vars(value).items()
            if not name.startswith("_") and name not in own
        }
        # A layer gets none during a training, if it has none when it begins.
        return None if not found and not isinstance(value, kinds("Model")) else found

    def own_names(self, kind: type) -> frozenset[str]:
        if kind is types.FunctionType:
            return _SET_BY_AUTOGRAPH
        return reachable.of_class(_OWN_NAMES.setdefault(imported(), {}), kind, _own_names)

    def remade_names(self, kind: type) -> frozenset[str]:
        is_reader = issubclass(kind, kinds(*SEQUENCES))
        return self.own_names(kind) if is_reader else names_set_by_libraries(kind)

    def is_asked(self, owner: Any, value: Any) -> bool:
        """Texts of Keras' own callbacks, such as a path."""
        is_callback = isinstance(owner, kinds("callbacks.Callback"))
        return is_callback and type(owner).__module__.startswith(SOURCES) and type(value) is str

    def functions_of(self, value: Any) -> Iterator[Any]:
        yield from tensorflow_private.generators_of(value)
        # By the class: an object of the script may answer to any name, or with an error.
        has_one = hasattr(type(value), "python_function")
        function = value.python_function if has_one else None
        if isinstance(function, types.FunctionType):
            yield function

    def array_of(self, value: Any) -> np.ndarray[Any, Any] | None:
        if not tensorflow_private.is_eager_tensor(value) or value.dtype in _HANDLES:
            return None
        return np.array(value.numpy())

    def parts_of(self, value: Any) -> list[np.ndarray[Any, Any]]:
        if not isinstance(value, _COMPOSITES):
            return []
        arrays = map(self.array_of, tf.nest.flatten(value, expand_composites=True))
        return [each for each in arrays if each is not None]

    tensor_of = staticmethod(tf.constant)
    entries_of = staticmethod(tables.entries)
    refill_table = staticmethod(tables.refill)

    def is_table(self, kind: type) -> bool:
        return issubclass(kind, tables.KINDS)


_HANDLES = (tf.resource, tf.variant)
_COMPOSITES = (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)

_OWN_NAMES: dict[tuple[str, ...], reachable.Known[frozenset[str]]] = {}
"""By the packages of Keras that are imported."""


def _own_names(kind: type) -> frozenset[str]:
    if issubclass(kind, kinds("callbacks.Callback")):
        # What else it sets is what the callback remembers.
        is_tensorboard = issubclass(kind, kinds("callbacks.TensorBoard"))
        own = map(_names_set_in, kinds("callbacks.Callback"))
        return frozenset(tensorboard.WRITERS if is_tensorboard else ()).union(*own)
    if issubclass(kind, kinds(*SEQUENCES)):
        return frozenset().union(*map(_names_set_in, kinds(*SEQUENCES)))
    names = names_set_by_libraries(kind)
    if issubclass(kind, kinds(*_OPTIMIZERS)):
        # What only a constructor is given and sets, such as `momentum`, a callback may change.
        names -= _settings_of(kind)
    return names | _SET_BY_CALLBACKS if issubclass(kind, kinds("Model")) else names


@functools.lru_cache(maxsize=1024)
def names_set_by_libraries(kind: type) -> frozenset[str]:
    return frozenset().union(*map(_names_set_in, _bases_in_libraries(kind)))


def _bases_in_libraries(kind: type) -> list[type]:
    return [base for base in kind.__mro__ if base.__module__.startswith(_LIBRARIES)]


@functools.lru_cache(maxsize=1024)
def _settings_of(kind: type) -> frozenset[str]:
    bases = _bases_in_libraries(kind)
    constructors = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)]
    given = {name for each in constructors for name in inspect.signature(each).parameters}
    later = (_names_set_in(base, but="__init__") for base in bases)
    return frozenset(given - {"name"}).difference(*later)


@functools.lru_cache(maxsize=2048)
def _names_set_in(base: type, but: str = "") -> frozenset[str]:
    members = [member for name, member in vars(base).items() if name != but]
    # Down to the library's own code: methods are wrapped, by Keras and by hooks.
    called = (each for member in members for each in holder.called_for(member))
    codes = [getattr(inspect.unwrap(each), "__code__", None) for each in called]
    set_by = (attributes_set_by(code) for code in codes if code is not None)
    return frozenset().union(*set_by)
