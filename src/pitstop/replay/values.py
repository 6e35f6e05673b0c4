"""What a call returned, as a form and bytes; and the value that both give back.

A form describes structure, types and shapes, and is the same for every call of
a function but in rare cases; the bytes are all that changes.  Forms are nested
tuples of JSON values:

    ("tensor", "float32", (2, 3))    an eager tensor
    ("array", "float32", (2, 3))     a NumPy array; "scalar" for a NumPy scalar
    ("float",) ("int",) ("bool",)    Python's numbers, 8, 8 and 1 bytes
    ("none",)
    ("list", form, ...)  ("tuple", form, ...)  ("dict", (key, form), ...)
    ("replicas", form, ...)          what each replica of a strategy returned
"""

import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.tensorflow import private

Form = tuple[Any, ...]

_NUMBERS: dict[type, tuple[Form, struct.Struct]] = {
    float: (("float",), struct.Struct("<d")),
    int: (("int",), struct.Struct("<q")),
    bool: (("bool",), struct.Struct("<?")),
}
_BY_NAME = {form[0]: packing for form, packing in _NUMBERS.values()}
_MADE: dict[str, Any] = {"list": list, "tuple": tuple, "replicas": private.PER_REPLICA}


class NotRecordable(TypeError):
    """A value that a form and bytes cannot carry; its class is the message."""


def flatten(value: Any) -> tuple[Form, bytes]:
    """The form of a value, and its bytes; raises `NotRecordable` for other kinds."""
    pieces: list[bytes] = []
    form = _flatten(value, pieces)
    return form, b"".join(pieces)


def _flatten(value: Any, pieces: list[bytes]) -> Form:
    kind = type(value)
    if private.is_eager_tensor(value):
        pieces.append(_bytes_of(private.as_numpy(value)))
        return ("tensor", value.dtype.name, private.shape_of(value))
    if value is None:
        return ("none",)
    if kind in _NUMBERS:
        number, packing = _NUMBERS[kind]
        try:
            pieces.append(packing.pack(value))
        except struct.error:
            raise NotRecordable("an int of more than 64 bits") from None
        return number
    if kind in (list, tuple):
        return (kind.__name__, *[_flatten(item, pieces) for item in value])
    if kind is dict and all(type(key) is str for key in value):
        return ("dict", *[(key, _flatten(item, pieces)) for key, item in value.items()])
    if isinstance(value, private.PER_REPLICA):
        return ("replicas", *[_flatten(item, pieces) for item in value.values])
    if isinstance(value, np.generic) or kind is np.ndarray:
        pieces.append(_bytes_of(value))
        return (("array" if kind is np.ndarray else "scalar"), _name_of(value.dtype), value.shape)
    raise NotRecordable(f"{kind.__module__}.{kind.__qualname__}")


def _bytes_of(array: Any) -> bytes:
    # A scalar string comes as Python bytes.
    if isinstance(array, bytes) or array.dtype.hasobject:
        raise NotRecordable("a tensor of strings")
    return bytes(array.tobytes())


def _name_of(dtype: np.dtype[Any]) -> str:
    try:
        return str(tf.as_dtype(dtype).name)
    except TypeError:
        raise NotRecordable(f"an array of {dtype}") from None


def build(form: Form, data: memoryview) -> Any:
    return _build(form, io.BytesIO(data))


def _build(form: Form, data: io.BytesIO) -> Any:
    kind, *rest = form
    match kind:
        case "none":
            return None
        case "list" | "tuple" | "replicas":
            return _MADE[kind]([_build(item, data) for item in rest])
        case "dict":
            return {key: _build(item, data) for key, item in rest}
        case "tensor":
            return tf.constant(_array(data, *rest), tf.as_dtype(rest[0]))
        case "array":
            return _array(data, *rest)
        case "scalar":
            return _array(data, *rest)[()]
        case _:
            packing = _BY_NAME[kind]
            return packing.unpack(data.read(packing.size))[0]


def _array(data: io.BytesIO, dtype_name: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(tf.as_dtype(dtype_name).as_numpy_dtype)
    read = data.read(int(np.prod(shape)) * dtype.itemsize)
    # Without `copy` it would be read-only.
    return np.ndarray(tuple(shape), dtype, read).copy()


def as_form(value: Any) -> Form:
    return tuple(as_form(item) if isinstance(item, list) else item for item in value)


def first_number(value: Any) -> float | None:
    """The first real scalar of a result, which usually is the loss; None without one."""
    if isinstance(value, dict):
        value = [value["loss"]] if "loss" in value else list(value.values())
    if isinstance(value, list | tuple):
        numbers = (first_number(item) for item in value)
        return next((number for number in numbers if number is not None), None)
    is_scalar = getattr(value, "shape", None) == ()
    is_real = isinstance(value, float) or (is_scalar and tf.as_dtype(value.dtype).is_floating)
    return float(value) if is_real else None
