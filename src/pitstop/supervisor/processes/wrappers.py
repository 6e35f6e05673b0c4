"""Programs that start another program and change nothing in what it computes.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from pitstop.record import record

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_ENV = "env"


@record
class _WrapperForm:
    """How a wrapper is called: options that take a value, words before the program."""

    valued: frozenset[str] = frozenset()
    words: int = 0


_FORMS: Mapping[str, _WrapperForm] = {
    _ENV: _WrapperForm(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "chrt": _WrapperForm(frozenset({"-T", "-P", "-D"}), words=1),
    "ionice": _WrapperForm(frozenset({"-c", "--class", "-n", "--classdata"})),
    "nice": _WrapperForm(frozenset({"-n", "--adjustment"})),
    "nohup": _WrapperForm(),
    "setsid": _WrapperForm(),
    "stdbuf": _WrapperForm(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "taskset": _WrapperForm(words=1),
    "time": _WrapperForm(frozenset({"-f", "--format", "-o", "--output"})),
    "timeout": _WrapperForm(frozenset({"-k", "--kill-after", "-s", "--signal"}), words=1),
}


def unwrapped(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command that the wrappers start, and the variables that `env` sets, in order of name."""
    variables: dict[str, str] = {}
    rest = list(words)
    while rest and (form := _FORMS.get(PurePath(rest[0]).name)):
        inner = _behind_options(rest, form)
        while PurePath(rest[0]).name == _ENV and inner and _ASSIGNMENT.match(inner[0]):
            name, _, value = inner.pop(0).partition("=")
            variables[name] = value
        if not inner:
            break
        rest = inner
    return tuple(rest), tuple(f"{name}={value}" for name, value in sorted(variables.items()))


def _behind_options(words: Sequence[str], form: _WrapperForm) -> list[str]:
    index = 1
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        index += 2 if word in form.valued else 1
        if word == "--":
            break
    return list(words[index + form.words :])
