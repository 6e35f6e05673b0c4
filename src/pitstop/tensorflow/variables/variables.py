"""Every variable of the process: held at a cut, assigned at a resume.

Variables are known by the order of their creation and by their names, which a script repeats when
it is run again; no model has to be named.  At a cut each value is held by reference, which takes a
few microseconds.  TensorFlow copies a buffer that is held elsewhere before it updates the variable
(`PrepareToUpdateVariable` in tensorflow/core/kernels/training_op_helpers.h).
"""

import functools
import math
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.snapshots import variable_match
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.engine.snapshots.variable_match import PresentVariable, SavedVariable, VariableMatch
from pitstop.record import Frozen, build
from pitstop.store.image import DTYPE_CODES, TensorSpec
from pitstop.tensorflow import private
from pitstop.tensorflow.variables.gpu_reads import gpu_value
from pitstop.tensorflow.variables.naming import Naming, path_of

_MOST_OF_A_SEED = 8
_WITHOUT_VALUE = ("resource", "variant")


class Awaited:
    """Saved variables that are not created yet, while their restore lasts."""

    def __init__(self, found: VariableMatch, assign: Callable[[SavedVariable, Any], None]) -> None:
        self._found = found
        self._waiting = {item.index: item for item in found.waiting}
        self._assign = assign
        self._claimed: list[tuple[SavedVariable, weakref.ref[Any]]] = []
        self._others: list[PresentVariable] = []

    def created(self, now: PresentVariable, variable: Any) -> None:
        item = self._waiting.get(now.index)
        is_it = item is not None and item.name in ("", now.name)
        if item is None or not is_it or not variable_match.fits(item, now):
            self._others.append(now)
            return
        del self._waiting[now.index]
        self._claimed.append((item, weakref.ref(variable)))
        self._assign(item, variable)

    def settle(self, path_of: Callable[[Any], str]) -> str:
        """Why the created variables are not the awaited ones, or empty; else `ResumeRefused`."""
        for now in self._others:
            item = self._waiting.get(now.index)
            if item is not None:
                raise variable_match.changed(item, now)
        doubts = [variable_match.REORDERED] if self._found.reordered else []
        if self._found.unsaved:
            kept = variable_match.named(self._found.unsaved)
            doubts.append(f"variables of the model are not in the saved state: {kept}")
        if lost := [item for item in self._waiting.values() if not item.dropped]:
            doubts.append(_told("do not exist in this attempt, so they are not restored", lost))
        if unproven := self._unproven(path_of):
            doubts.append(_told("were created late and may be meant as new ones", unproven))
        return "; ".join(doubts)

    def _unproven(self, path_of: Callable[[Any], str]) -> list[SavedVariable]:
        """Variables that no object from before holds: they may be created anew each time."""
        living = [(item, made()) for item, made in self._claimed]
        return [
            item
            for item, variable in living
            if variable is not None and not (item.owned and path_of(variable) == item.path)
        ]


def _told(what: str, items: Collection[SavedVariable]) -> str:
    return f"{len(items)} variable(s) of the saved state {what}: {variable_match.named(items)}"


PathOf = Callable[[Any], str]
"""A readable name for a `tf.Variable` of the model or of a named object; else empty."""


def is_seed(variable: Any) -> bool:
    size = variable.shape.num_elements()
    return bool(variable.dtype.is_integer and size is not None and size <= _MOST_OF_A_SEED)


def no_path(_variable: Any) -> str:
    return ""


class HeldVariables(Frozen):
    """The variables at a cut: their values, and what the JSON of the cut says of them.

    `refused`: names of variables that cannot be saved (resources, variants).
    """

    tensors: list[HeldTensor]
    state: dict[str, Any]
    refused: list[str]


@dataclass(frozen=True, slots=True)
class _Created:
    """A variable as it was at its creation."""

    reference: Callable[[], Any]
    name: str
    dtype: str
    shape: tuple[int | None, ...] | None


_PASSED_BY = _Created(lambda: None, "", "", None)
"""A variable that the earlier attempt created after its start, and this attempt does not."""


class VariableRegistry:
    """The variables of this process in the order of their creation.

    Attributes:
        only_owned: those of the model that is trained are held and restored; it is not known
            what the other ones of the process belong to.
        dropped: numbers of those that are no longer used, see
            `pitstop.keras.models.variable_paths`.
    """

    def __init__(self) -> None:
        self.naming = Naming()  # the names that a framework gives to variables
        self.dropped: set[int] = set()
        self._created: list[_Created] = []
        self._awaited: Awaited | None = None
        self._installed = self.only_owned = False
        self._labelled = -1
        self._numbers: dict[int, int] = {}

    def install(self) -> None:
        if not self._installed:
            self._installed = True
            private.on_variable_created(self._add)

    @property
    def created(self) -> int:
        return len(self._created)

    def living(self, since: int) -> Iterator[Any]:
        """Those that exist, without the first `since` that were created."""
        if since < self.created:
            yield from (variable for index, _, variable in self._living() if index >= since)

    def indices(self) -> dict[int, int]:
        return {id(variable): index for index, _, variable in self._living()}

    def in_order(self, variables: Iterable[Any]) -> list[Any]:
        numbers = self.indices()
        known = (each for each in variables if id(each) in numbers)
        return sorted(known, key=lambda each: numbers[id(each)])

    def seeds(self) -> dict[str, Any]:
        """The values of those that may be the state of a generator, by name."""
        return {self.label(each): each.numpy() for each in self.living(0) if is_seed(each)}

    def owned(self, path_of: PathOf) -> set[int]:
        return {index for index, _, variable in self._living() if path_of(variable)}

    def label(self, variable: Any) -> str:
        """Number (-1 where it is not known), name and type: names alone are not unique."""
        # New variables may get the identity of old ones.
        if self._labelled != self.created:
            self._labelled, self._numbers = self.created, self.indices()
        number = self._numbers.get(id(variable), -1)
        return f"{number}: {variable.name} {variable.dtype.name}{variable.shape}"

    def adopt(self, variables: Iterable[Any]) -> None:
        known = {id(variable) for _, _, variable in self._living()}
        for variable in variables:
            if id(variable) not in known:
                known.add(id(variable))
                self._add(variable)

    def _add(self, variable: Any) -> None:
        created = _Created(
            weakref.ref(variable), self.naming.of(variable), variable.dtype.name, _shape(variable)
        )
        index = len(self._created)
        self._created.append(created)
        if self._awaited is not None:
            self._awaited.created(_present(index, created, variable, no_path), variable)

    def _living(self) -> Iterator[tuple[int, _Created, Any]]:
        for index, created in enumerate(self._created):
            variable = created.reference()
            if variable is not None and private.is_eager_variable(variable):
                yield index, created, variable

    def hold(self, path_of: PathOf = no_path) -> HeldVariables:
        tensors, described, refused = [], [], []
        for index, created, variable in self._living():
            own = path_of(variable)
            if self.only_owned and not own:
                continue
            path = own or created.name
            if created.dtype in _WITHOUT_VALUE:
                refused.append(f"{path} ({created.dtype})")
                continue
            tensor = f"variables/{index:05d}/{path}"
            value = private.hold_value(variable)
            shape = private.shape_of(value)
            if shape != created.shape and not variable.shape.is_compatible_with(shape):
                continue  # on another machine, one without a value (of shards) reads as empty
            tensors.append(_held(tensor, value.dtype, shape, value))
            described.append(
                {
                    "index": index,
                    "path": path,
                    "dtype": created.dtype,
                    "shape": list(shape),
                    "tensor": tensor,
                    "name": created.name,
                    "owned": bool(own),
                    "dropped": not own and index in self.dropped,
                    "trainable": bool(variable.trainable),
                }
            )
        counts = {"variables": len(self._created), "names": self.naming.counts()}
        return HeldVariables(tensors, {"variables": described, "created": counts}, refused)

    def missing(self, saved: SavedState, path_of: PathOf = no_path) -> bool:
        """Whether the state holds variables that are not created yet, or not the model's yet."""
        described, present = saved_variables(saved), self._present(path_of)
        if self.only_owned:
            return len(described) > len(present)
        alive = [each for each in present if each.alive]
        strangers = {each.index for each in alive if not each.owned}
        # Others may have been created before them: by a script that restores a backup first.
        few = sum(item.owned for item in described) > len(alive) - len(strangers)
        return few or any(
            item.index >= len(self._created) or (item.owned and item.index in strangers)
            for item in described
        )

    def restore(
        self,
        saved: SavedState,
        path_of: PathOf = no_path,
        left_alone: Sequence[Any] = (),
        *,
        some: bool = False,
    ) -> None:
        """Assigns saved values, but of those `left_alone`; raises `ResumeRefused` before any."""
        kept = {id(variable) for variable in left_alone}
        found = variable_match.match(saved_variables(saved), self._present(path_of), some=some)
        for item, index in found.pairs:
            variable = self._created[index].reference()
            if variable is not None and id(variable) not in kept:
                assign(variable, item, saved)
        self._awaited = Awaited(found, lambda item, variable: assign(variable, item, saved))

    def restore_all(
        self, saved: SavedState, path_of: PathOf = no_path, *left_alone: Any, some: bool = False
    ) -> str:
        """The same after all code that creates variables has run; a doubt, see `settle`."""
        self.restore(saved, path_of, left_alone, some=some)
        return self.settle(saved, path_of)

    def settle(self, saved: SavedState, path_of: PathOf = no_path) -> str:
        """No more variables are awaited: a doubt, or empty; raises `ResumeRefused`."""
        awaited, self._awaited = self._awaited, None
        counts = saved.state.get("created", {})
        doubt = awaited.settle(path_of) if awaited is not None else ""
        self.pass_by(int(counts.get("variables", 0)))
        self.naming.advance(counts.get("names", {}))
        return doubt

    def pass_by(self, index: int) -> None:
        """Lets the next variable have this number, unless so many have been created."""
        self._created += [_PASSED_BY] * (index - len(self._created))

    def restore_matching(self, saved: SavedState, path_of: PathOf = no_path) -> list[str]:
        """Assigns what still fits, by path and shape, and names what does not."""
        living = [each for each in self._present(path_of) if each.alive]
        pairs, skipped = variable_match.what_fits(saved_variables(saved), living)
        for item, index in pairs:
            assign(self._created[index].reference(), item, saved)
        return skipped

    def _present(self, path_of: PathOf) -> list[PresentVariable]:
        found = (
            _present(index, created, created.reference(), path_of)
            for index, created in enumerate(self._created)
            if created is not _PASSED_BY
        )
        return [each for each in found if each.owned or not self.only_owned]

    def others(self, path_of: PathOf) -> dict[str, Any]:
        return {
            f"{index} {created.name}": private.hold_value(variable)
            for index, created, variable in self._living()
            if not path_of(variable) and created.dtype not in _WITHOUT_VALUE
        }


def _present(index: int, created: _Created, variable: Any, path_of: PathOf) -> PresentVariable:
    alive = variable is not None and private.is_eager_variable(variable)
    own = path_of(variable) if alive else ""
    return PresentVariable(
        index, own or created.name, created.dtype, created.shape, created.name, bool(own), alive
    )


def _shape(variable: Any) -> tuple[int | None, ...] | None:
    shape = variable.shape
    return None if shape.rank is None else tuple(shape.as_list())


REGISTRY = VariableRegistry()
"""The registry of this process; variables are global, so is their list."""


def saved_variables(saved: SavedState) -> list[SavedVariable]:
    return [build(SavedVariable, "variable", described) for described in saved.state["variables"]]


def _held(name: str, dtype: tf.DType, shape: tuple[int, ...], value: Any) -> HeldTensor:
    if dtype == tf.string:
        # Its elements are not in one buffer: they are written out at once.
        data = np.frombuffer(tf.io.serialize_tensor(value).numpy(), np.uint8)
        return HeldTensor.of_array(name, data)

    def read() -> memoryview:
        array = np.ascontiguousarray(private.as_numpy(value))
        return array.reshape(-1).view(np.uint8).data

    code, width_bytes = _form_of(dtype)
    if not code:
        # safetensors has no code for it: its bytes are kept as they are.
        code, shape = "U8", (math.prod(shape) * width_bytes,)
    return HeldTensor(TensorSpec(name, code, shape), read, gpu_value(value, read))


@functools.cache
def _form_of(dtype: tf.DType) -> tuple[str, int]:
    """The code of its elements in a checkpoint, empty for none; and their size."""
    kind = np.dtype(dtype.as_numpy_dtype)
    return DTYPE_CODES.get(kind.name, ""), kind.itemsize


def check_fits(item: SavedVariable, variable: Any) -> None:
    """Raises `ResumeRefused` where a variable has another shape or dtype than the saved value."""
    name = path_of(variable)
    now = PresentVariable(item.index, name, variable.dtype.name, _shape(variable), name)
    if not variable_match.fits(item, now):
        raise variable_match.changed(item, now)


def assign(variable: Any, item: SavedVariable, saved: SavedState) -> None:
    data = saved.tensors[item.tensor]
    # A variable may be created while a function is traced: the value is given
    # now, not each time that function runs.  TensorFlow leaves it then, see
    # `_initialize_uninitialized_variables` of its polymorphic_function.py.
    with tf.init_scope():
        if variable.dtype == tf.string:
            variable.assign(tf.io.parse_tensor(bytes(data), tf.string))
        else:
            dtype = np.dtype(variable.dtype.as_numpy_dtype)
            variable.assign(np.frombuffer(data, dtype).reshape(item.shape))
