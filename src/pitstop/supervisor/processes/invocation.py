"""What a command runs, without the ways to say it that change nothing.  Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from pathlib import PurePath

from pitstop.record import record
from pitstop.supervisor.processes.wrappers import unwrapped

_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?$")
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
# Options of Python that change what a script does; all others change how it is shown.
_TELLING = frozenset("OEIsSPx")
_LONG_WITH_VALUE = "--check-hash-based-pycs"
_NOTEBOOK = "kernel_launcher"


class InvocationKind(enum.Enum):
    """What a command starts; the value is its name for users."""

    SCRIPT = "script"
    MODULE = "module"
    CODE = "program text"
    PROGRAM = "program"


@record
class Invocation:
    """A command in its parts.

    Attributes:
        target: a script's path as it was given, a module's name, a program's name, or code.
        options: of the interpreter, as far as they change what a script does.
        variables: that the command sets for itself, in order of name.
    """

    kind: InvocationKind
    target: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def is_python_program(word: str) -> bool:
    return bool(_PYTHON.match(PurePath(word).name))


def parse(command: Sequence[str]) -> Invocation:
    """The parts of a command: neither its wrappers nor the path of its interpreter count."""
    words, variables = unwrapped(command)
    if is_python_program(words[0]):
        return _of_python(words[1:], variables)
    if PurePath(words[0]).name in _SHELLS:
        return _of_shell(words, variables)
    kind = InvocationKind.SCRIPT if "/" in words[0] else InvocationKind.PROGRAM
    return Invocation(kind, words[0], tuple(words[1:]), variables=variables)


def _of_python(words: Sequence[str], variables: tuple[str, ...]) -> Invocation:
    rest, options = list(words), []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word.startswith("--"):
            del rest[: 1 if word == _LONG_WITH_VALUE else 0]
            continue
        telling, ending, value = _short_options(word[1:])
        options += telling
        if ending and not value and rest:
            value = rest.pop(0)
        if ending in ("c", "m"):
            kind = InvocationKind.CODE if ending == "c" else InvocationKind.MODULE
            return Invocation(kind, value, _lasting(value, rest), tuple(options), variables)
    target = rest.pop(0) if rest else ""
    return Invocation(
        InvocationKind.SCRIPT, target, _lasting(target, rest), tuple(options), variables
    )


def _short_options(letters: str) -> tuple[list[str], str, str]:
    """The telling ones of a cluster; the one that takes a value, with what of it stands there."""
    for index, letter in enumerate(letters):
        if letter in "cmWX":
            telling = [each for each in letters[:index] if each in _TELLING]
            return telling, letter, letters[index + 1 :]
    return [each for each in letters if each in _TELLING], "", ""


def _lasting(target: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The arguments; those of a notebook's kernel are other ones at each of its starts."""
    return () if _NOTEBOOK in target else tuple(arguments)


def _of_shell(words: Sequence[str], variables: tuple[str, ...]) -> Invocation:
    index = next((i for i in range(1, len(words)) if not words[i].startswith("-")), len(words))
    if index == len(words) or any("c" in word and word[:2] != "--" for word in words[1:index]):
        shell = PurePath(words[0]).name
        return Invocation(InvocationKind.PROGRAM, shell, tuple(words[1:]), variables=variables)
    return Invocation(
        InvocationKind.SCRIPT, words[index], tuple(words[index + 1 :]), variables=variables
    )
