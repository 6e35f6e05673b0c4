"""The exception that left the script, as reported or as printed."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass

from pitstop.events import ExceptionRaised

_HEADER = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
_TITLE = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_SYNTAX = re.compile(
    r'^ +File "(?P<file>[^"]+)", line (?P<line>\d+)\n(?: +.*\n){0,3}'
    r"(?P<name>SyntaxError|IndentationError|TabError): (?P<message>.*)$",
    re.MULTILINE,
)
# TensorFlow writes its own log lines between and after the lines of a message.
_LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+: [IWEF] |^[IWEF]\d{4} ")
_LIBRARY = re.compile(r"site-packages|dist-packages|lib/python3|<frozen |<string>")
_MESSAGE_LINES = 12


@dataclass(frozen=True)
class Raised:
    """An uncaught exception.

    Attributes:
        name: class name without its module.
        names: the class and its bases, as far as known, without modules.
        message: all lines of it.
        file, line, function: the innermost frame of the user's own code.
        callback: class of the callback it was raised in, or empty.
        printed: read from the output, not reported by the trainer.
    """

    name: str
    names: frozenset[str]
    message: str
    file: str
    line: int
    function: str
    callback: str = ""
    printed: bool = False


def from_event(event: ExceptionRaised) -> Raised:
    """The exception that the trainer reported."""
    names = (event.class_name, *event.bases)
    return Raised(
        name=_bare(event.class_name),
        names=_with_builtin_bases(names),
        message=event.message,
        file=event.file,
        line=event.line,
        function=event.function,
        callback=event.callback,
    )


def from_output(text: str) -> Raised | None:
    """The last exception that was printed, None when none was."""
    start = text.rfind(_HEADER)
    syntax = list(_SYNTAX.finditer(text))
    if syntax and syntax[-1].start() > start:
        return _syntax_error(syntax[-1])
    return _traceback(text[start + len(_HEADER) :].splitlines()[1:]) if start >= 0 else None


def _traceback(lines: list[str]) -> Raised | None:
    end = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), None)
    title = _TITLE.match(lines[end]) if end is not None else None
    if title is None or end is None:
        return None
    frames = [frame for line in lines[:end] if (frame := _FRAME.match(line))]
    own = [frame for frame in frames if not _LIBRARY.search(frame["file"])] or frames
    return Raised(
        name=_bare(title["name"]),
        names=_with_builtin_bases((title["name"],)),
        message="\n".join([title["message"] or "", *_message_rest(lines[end + 1 :])]).strip(),
        file=own[-1]["file"] if own else "",
        line=int(own[-1]["line"]) if own else 0,
        function=(own[-1]["function"] or "") if own else "",
        printed=True,
    )


def _message_rest(lines: list[str]) -> list[str]:
    return [line for line in lines[:_MESSAGE_LINES] if not _LOG_LINE.match(line)]


def _syntax_error(match: re.Match[str]) -> Raised:
    return Raised(
        name=match["name"],
        names=_with_builtin_bases((match["name"],)),
        message=match["message"],
        file=match["file"],
        line=int(match["line"]),
        function="",
        printed=True,
    )


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _with_builtin_bases(names: tuple[str, ...]) -> frozenset[str]:
    found = {_bare(name) for name in names}
    for name in tuple(found):
        cls = getattr(builtins, name, None)
        if isinstance(cls, type) and issubclass(cls, BaseException):
            found |= {base.__name__ for base in cls.__mro__[:-1]}
    return frozenset(found)
