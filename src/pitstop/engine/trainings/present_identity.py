"""What is known of any training from the call that begins it: its place, and its counters."""

import collections
import contextlib
import dataclasses
import dis
import functools
import hashlib
import inspect
import linecache
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pitstop.engine.frames import frames_from, is_user_file
from pitstop.engine.program import is_own_file
from pitstop.engine.trainings.identity import Identity
from pitstop.engine.values.described import (
    describe,
    digest_of_text,
    is_plain,
    is_reproducible,
    plain_attributes,
)
from pitstop.engine.values.reachable import CODE, user_modules

_MOST_FILES = 256
_LARGEST_BYTES = 1 << 20
_PREPARE = ("NOP", "EXTENDED_ARG", "CACHE")
_INLINE = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_NAMESPACES = frozenset({"locals", "vars"})
_MOST_PLAIN_CHARACTERS = 10_000
_HELD = {"most_items": 64, "whole_bytes": 1 << 18}  # a script holds much, and may train each second
_COLLECTIONS = (dict, list, set, tuple, collections.deque)
_FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow"})
_Targets = tuple[str, ...]  # the names that a `for` stores to, none of a `while`


def identity_of_present_call(seed: int | None) -> Identity:
    return replace(
        site_of(_stack(sys._getframe(1))),
        process=process_name(),
        program=_program_digest(),
        command=digest_of_text(*sys.argv[1:]),
        seed="" if seed is None else str(seed),
    )


def place_of_present_call() -> tuple[str, ...]:
    """What `Identity.frames` says of the call."""
    return tuple(map(_described, _users_of(_stack(sys._getframe(1)))))


def held_by_callers() -> dict[str, str]:
    return site_of(_stack(sys._getframe(1))).names


def process_name() -> str:
    """The name that `multiprocessing` gave this process; empty for other processes."""
    made_by = sys.modules.get("multiprocessing.process")
    if made_by is None or made_by.parent_process() is None:
        return ""
    return str(made_by.current_process().name)


@functools.cache
def _program_digest() -> str:
    files = {str(getattr(module, "__file__", None) or "") for module in user_modules().values()}
    texts = []
    for file in sorted(filter(None, files)):
        try:
            texts.append(Path(file).read_text(errors="replace"))
        except OSError:
            texts.append("")
    return digest_of_text(*texts)


def own_sources() -> dict[str, str]:
    found: dict[str, str] = {}
    files = [vars(module).get("__file__") for module in user_modules().values()]
    for path in (Path(file).absolute() for file in files if file):
        # Code that cannot be read tells nothing.
        with contextlib.suppress(OSError):
            if len(found) < _MOST_FILES and path.stat().st_size <= _LARGEST_BYTES:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def enclosing_loops(code: types.CodeType, at: int) -> tuple[_Targets, ...]:
    """Of the loops around the instruction at an offset (`frame.f_lasti`), from the outermost in."""
    spans = sorted(_spans(code).items())
    return tuple(targets for start, (end, targets) in spans if start <= at < end)


@functools.lru_cache(maxsize=256)
def _spans(code: types.CodeType) -> dict[int, tuple[int, _Targets]]:
    instructions = list(dis.get_instructions(code))
    places = {each.offset: place for place, each in enumerate(instructions)}
    ends: dict[int, int] = {}
    for each in instructions:
        if each.opcode in dis.hasjrel and each.argval <= each.offset:
            ends[each.argval] = max(each.offset, ends.get(each.argval, 0))
    return {
        start: (end, tuple(_targets(instructions[places[start] :])))
        for start, end in ends.items()
        if start in places
    }


def _targets(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    found = iter(each for each in instructions if each.opname not in _PREPARE)
    if next(found).opname != "FOR_ITER":
        return
    waiting = 1
    for each in found:
        if waiting <= 0:
            return
        if each.opname.startswith("UNPACK_SEQUENCE"):
            waiting += int(each.argval) - 1
        elif each.opname.startswith("STORE_"):
            # Python 3.13 stores two at once, or stores one and loads another.
            names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
            stored = names if each.opname == "STORE_FAST_STORE_FAST" else names[:1]
            yield from (str(name) for name in stored)
            waiting -= len(stored)
        else:
            return


def names_on_stack() -> dict[str, Any]:
    users = _users_of(_stack(sys._getframe(1)))
    inner = [frame for frame in users if frame.f_code.co_flags & inspect.CO_OPTIMIZED]
    return {f"{place} {each.f_code.co_name}": _names(each) for place, each in enumerate(inner)}


def site_of(stack: list[types.FrameType]) -> Identity:
    users = _users_of(stack)
    counters: list[str] = []
    arguments: list[str] = []
    values: list[str] = []
    digests: dict[str, str] = {}
    complete = bool(users)
    for frame in users:
        code, names = frame.f_code, _names(frame)
        for targets in enclosing_loops(code, frame.f_lasti):
            told = _told(names, targets)
            counters += told
            complete &= bool(told)
        if _is_called_by_another(frame, stack):
            told = _told(names, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
            arguments += told
            complete &= bool(told)
        held, place = _held(names), "" if code.co_name == "<module>" else f" of {code.co_qualname}"
        digests |= {name + place: digest_of_text(text) for name, text in held.items()}
        values += [
            f"{name}={text}"
            for name, text in held.items()
            if is_plain(names[name]) and len(text) <= _MOST_PLAIN_CHARACTERS
        ]
    return Identity(
        frames=tuple(map(_described, users)),
        counters=tuple(counters),
        arguments=tuple(arguments),
        complete=complete,
        values=digest_of_text(*values),
        names=digests,
    )


def _told(names: Mapping[str, Any], wanted: tuple[str, ...]) -> list[str]:
    found = ((name, _settings_in(names.get(name, ...))) for name in wanted)
    return [f"{name}={describe(value)}" for name, value in found if is_plain(value)]


def _settings_in(value: Any) -> Any:
    """The fields of an object that holds nothing but settings; any other value itself."""
    kind, found = type(value), getattr(value, "__dict__", {})
    if dataclasses.is_dataclass(kind):
        fields = (each.name for each in dataclasses.fields(kind))
        found = {**found, **{name: getattr(value, name, ...) for name in fields}}
    elif kind.__module__ not in {"argparse", "types", *user_modules()}:
        return value
    is_whole = found and not is_plain(value) and all(map(is_reproducible, found.values()))
    return {kind.__qualname__: found} if is_whole else value


def _stack(frame: types.FrameType) -> list[types.FrameType]:
    found = [each for each in frames_from(frame) if not is_own_file(each.f_code.co_filename)]
    return found[::-1]


def _users_of(stack: list[types.FrameType]) -> list[types.FrameType]:
    return [frame for frame in stack if is_user_file(frame.f_code.co_filename)]


def _is_called_by_another(frame: types.FrameType, stack: list[types.FrameType]) -> bool:
    """Whether something else than a call by its name has called a function of the script."""
    place = stack.index(frame)
    if place == 0 or frame.f_code.co_name in _INLINE:
        return False
    before = stack[place - 1]
    if not is_user_file(before.f_code.co_filename):
        return True
    callee, _ = _call_of(before)
    return bool(callee) and frame.f_code.co_name not in (callee.rpartition(".")[2], "__init__")


def _names(frame: types.FrameType) -> Mapping[str, Any]:
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # the frame has its names in a dict
        return frame.f_locals
    if _NAMESPACES & set(frame.f_code.co_names):
        # The function may keep the dictionary that the look below refills.
        return {}
    found = frame.f_locals
    names = dict(found)
    if sys.version_info < (3, 13):
        # It would keep alive what the function deletes.
        found.clear()
    return names


def _held(names: Mapping[str, Any]) -> dict[str, str]:
    """By name: what tells whether it holds the same as before, which need not be all of it."""
    own = user_modules()

    def is_code(value: Any) -> bool:
        # A class of the script holds values, too.
        is_own = isinstance(value, type) and value.__module__ in own
        return isinstance(value, CODE) and not is_own

    return {
        name: _text_of(value)
        for name, value in sorted(names.items())
        if not (name.startswith("_") or is_code(value)) and is_reproducible(value)
    }


def _text_of(value: Any) -> str:
    if is_plain(value):
        return describe(value, **_HELD)
    size = len(value) if isinstance(value, _COLLECTIONS) else ""
    # A model has another name each time that it is made.
    kinds = {each.__module__.partition(".")[0] for each in type(value).__mro__}
    attributes = {} if kinds & _FRAMEWORKS else plain_attributes(value)
    return f"{type(value).__qualname__} {size} {describe(attributes, **_HELD)}"


def _described(frame: types.FrameType) -> str:
    callee, which = _call_of(frame)
    file = Path(frame.f_code.co_filename).name
    return f"{file}:{frame.f_code.co_qualname}:{callee}:{which}"


def _call_of(frame: types.FrameType) -> tuple[str, int]:
    # The offset is that of the call, or of the room for its caches after it.
    calls = _calls(frame.f_code)
    before = [offset for offset in calls if offset <= frame.f_lasti]
    return calls[before[-1]] if before else ("", 0)


@functools.lru_cache(maxsize=256)
def _calls(code: types.CodeType) -> dict[int, tuple[str, int]]:
    seen: dict[str, int] = {}
    found = {}
    for each in dis.get_instructions(code):
        if each.opname.startswith("CALL"):
            callee = _callee(code.co_filename, each.positions)
            found[each.offset] = callee, seen.get(callee, 0)
            seen[callee] = seen.get(callee, 0) + 1
    return found


def _callee(file: str, positions: dis.Positions | None) -> str:
    """The text of a call up to its first bracket; empty where the source is not there."""
    if positions is None or positions.lineno is None or positions.col_offset is None:
        return ""
    line = linecache.getline(file, positions.lineno).encode()[positions.col_offset :]
    return line.decode(errors="replace").partition("(")[0].strip()
