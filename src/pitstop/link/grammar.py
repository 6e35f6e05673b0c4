"""What a message from the run's socket may look like.  Pure.

Every process of the user may connect, and its first message may be anything.  What fits is safe
to be handled: its members have the types, the sizes and the number of descriptors that belong
to its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pitstop.link.beacon import MOST_NAME_BYTES
from pitstop.link.wire import MALFORMED, Message

_MOST_CHARACTERS = 100_000
_MOST_ITEMS = 100_000
_MOST_INTEGER = 1 << 63

_Check = Callable[[Any], bool]


def _integer(value: Any) -> bool:
    return type(value) is int and -_MOST_INTEGER <= value < _MOST_INTEGER


def _count(value: Any) -> bool:
    return _integer(value) and value >= 0


def _number(value: Any) -> bool:
    return type(value) is float or _integer(value)


def _number_or_none(value: Any) -> bool:
    return value is None or _number(value)


def _flag(value: Any) -> bool:
    return type(value) is bool


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_CHARACTERS


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_ITEMS and all(map(_text, value))


def _name(value: Any) -> bool:
    return isinstance(value, str) and len(value.encode()) <= MOST_NAME_BYTES


def _folder_name(value: Any) -> bool:
    return _text(value) and "/" not in value and "\0" not in value and value not in (".", "..")


def _numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


def _record(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("kind"))


def _allocators(value: Any) -> bool:
    return isinstance(value, list) and all(_allocator(each) for each in value)


def _allocator(value: Any) -> bool:
    if not isinstance(value, dict) or not _text(value.get("device")):
        return False
    sizes = [value.get("current_bytes"), value.get("peak_bytes")]
    return len(value) == 3 and all(map(_count, sizes))


@dataclass(frozen=True)
class _FieldForm:
    """Members that a message must have and may have, and its descriptors."""

    needed: Mapping[str, _Check]
    optional: Mapping[str, _Check]
    fds: int = 0
    closed: bool = False


_FORMS: Mapping[str, _FieldForm] = {
    "hello": _FieldForm({"protocol": _integer, "pid": _count}, {"python": _text, "argv": _texts}),
    "request": _FieldForm(
        {"command": _text}, {"name": _name, "source": _text, "reason": _text, "now": _flag}
    ),
    "event": _FieldForm({"event": _record}, {}),
    "arena": _FieldForm({"size_bytes": _count}, {"backing": _text}, fds=1),
    "snapshot": _FieldForm(
        {"sequence": _count, "step": _count, "epoch": _count, "reason": _text, "durable": _flag},
        {"size_bytes": _count, "blocked_seconds": _number, "copy_seconds": _number},
    ),
    "restore": _FieldForm({"checkpoint": _folder_name}, {}),
    "vitals": _FieldForm(
        {},
        {
            "metrics": _numbers,
            "learning_rate": _number_or_none,
            "input_seconds": _number_or_none,
            "step_seconds": _number_or_none,
            "python_blocks": _number_or_none,
            "allocators": _allocators,
            "log_folder": _text,
        },
        closed=True,
    ),
}


def malformation_of(message: Message) -> str:
    """What is wrong with a message of a client, empty when nothing is.

    A type that this version does not know is not looked into: nobody handles it.
    """
    if message.type == MALFORMED:
        return str(message.body["reason"])
    form = _FORMS.get(message.type)
    if form is None:
        return ""
    if len(message.fds) != form.fds:
        return f"{message.type} comes with {len(message.fds)} descriptors, not {form.fds}"
    checks = {**form.needed, **form.optional}
    for name in {*form.needed, *message.body}:
        if name not in checks and form.closed:
            return f"{message.type} has no {name}"
        if name in checks and not checks[name](message.body.get(name)):
            return f"the {name} of this {message.type} is not one"
    return ""
