"""An exception that left a script, and its frames."""

from __future__ import annotations

import builtins
import linecache
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from pitstop.diagnosis import phrases
from pitstop.events import ExceptionRaised
from pitstop.record import Frozen

_LIBRARY = re.compile(
    r"site-packages|dist-packages|lib/python\d"
    r"|(?i:^[a-z]:.*/(?:python\d+|\w*conda\d*|envs/[^/]+)/lib/)"
    r"|<frozen |<string>|\.pyx$|/src/pitstop/|^$"
)
_FRAME = re.compile(
    r'^\s*(?:\||│)?\s*File "(?P<file>[^"]*)", line (?P<line>\d+)(?:,? in\b ?(?P<function>.*?))?\s*$'
)
"""Pages take `<module>` and `<string>` for tags of their own, and leave them out."""

_SAYS_WHERE = re.compile(
    r"\s*(?:Graph execution error|\d+ root error|Detected at|File \"|<stack traces|defined at|-{2,}"
    r"|Traceback \(most recent|Node: |Caused by op|Exception encountered when calling)|    "
)
"""Lines of an error of TensorFlow or Keras that tell where it was, not what."""
_PASSED_ON = re.compile(
    r"^(?:Exception encountered|Original error was): (?P<said>.+)", re.MULTILINE
)
_IN_USER_CODE = re.compile(r"(?ms)\Ain user code:\n.*^ {4}[\w.]+: (?P<said>[^\n]+)")
"""The frames of a function that TensorFlow has traced, and what was raised in the last of them."""
_BEFORE_IT = re.compile(
    r"^(?:\{\{function_node \S+\}\} |Error in user-defined function passed to \S+ transformation "
    r"with iterator: \S+: "
    r"|A total of \d+ objects could not be loaded\. Example error message for )+"
)
"""What TensorFlow and Keras write before the words of an error, on the same line."""
_ARRAY_ROWS = re.compile(r"(?:\n[\s\[]*-?\d[\d\s.,eE+\-\[\]>)]*)+(?=\n|\Z)")
"""Keras puts all values of a variable into an error about its shape."""
_ERRNO = re.compile(r"\[Errno (\d{1,2})\]")
_HINT = re.compile(r"\s*Hint: .*", re.DOTALL)
"""TensorFlow adds one about "OOM" to errors that have nothing to do with memory."""
HOW_TO_REPORT = (
    "Report it with the traceback from the output log (see CONTRIBUTING.md). Until it is fixed, "
    "the script runs without `pitstop run`."
)
_OURS = re.compile(r"/(?:src|site-packages|dist-packages)/pitstop/|^pitstop/")
_STANDARD = re.compile(r"/lib/python\d[\d.]*/(?!site-packages|dist-packages)|<frozen |/numpy/")
_PASSES_ON = re.compile(
    r"\(\s*\*|\*\*\w+\)|\byield\b|\bnext\(|\.read\(|\bopen\(|\boriginal\(|\b(?:run|call|instead)\(\)"
)
"""A call that hands on what the script gave: what fails below it is the script's.

TensorFlow leaves its own frames out of a traceback, so that such a call may be the last one.
"""


class Frame(Frozen):
    """One line of a traceback: where, and the source line if it is there."""

    file: str
    line: int
    function: str = ""
    code: str = ""

    @property
    def posix_path(self) -> str:
        return self.file.replace("\\", "/")

    @property
    def place(self) -> str:
        """`train.py:42 in load()`."""
        return phrases.source_line(self.file, self.line, self.function)

    @property
    def is_library(self) -> bool:
        """Not the user's own code, as far as its path tells."""
        return bool(_LIBRARY.search(self.posix_path))


class Raised(Frozen):
    name: str  # class name without its module
    names: frozenset[str]  # the class and its bases, as far as known, without modules
    message: str
    # `file`, `line`, `function`: the innermost frame of the user's own code
    file: str
    line: int
    function: str
    callback: str = ""  # class of the callback it was raised in, or empty
    printed: bool = False  # read from the output, not reported by the trainer
    frames: tuple[Frame, ...] = ()  # all that are known, the outermost first
    module: str = ""  # the module of the class, empty where none was named
    # those that were being handled when it was raised, the newest last
    causes: tuple[Raised, ...] = ()

    @property
    def place(self) -> str:
        return phrases.source_line(self.file, self.line, self.function)

    @property
    def title(self) -> str:
        text = phrases.shorten(said_in(_HINT.sub("", self.message)))
        return f"{self.name}: {text}" if text else self.name


def from_title(
    title: str, message: str, frames: tuple[Frame, ...] = (), *, callback: str = ""
) -> Raised:
    own = innermost_own(frames)
    number = _ERRNO.match(message)
    by_number = (type(OSError(int(number[1]), "")).__name__,) if number else ()
    return Raised(
        name=bare(title),
        names=with_builtin_bases((title, *by_number)),
        message=message,
        file=own.file if own else "",
        line=own.line if own else 0,
        function=own.function if own else "",
        callback=callback,
        printed=True,
        frames=frames,
        module=title.rpartition(".")[0],
    )


def frame_of(line: str) -> Frame | None:
    """The frame that CPython prints as `File "train.py", line 3, in main`."""
    found = _FRAME.match(line)
    if found is None:
        return None
    return Frame(found["file"], int(found["line"]), found["function"] or "")


def frames_in(lines: Iterable[str]) -> tuple[Frame, ...]:
    found = pairwise([*lines, ""])
    return tuple(
        replace(frame, code="" if frame_of(below) else below.strip())
        for line, below in found
        if (frame := frame_of(line))
    )


def with_own_code(frame: Frame) -> Frame:
    """The frame with its source line if it is Pitstop's, which a dump of stacks leaves out."""
    if not _OURS.search(frame.posix_path):
        return frame
    return replace(frame, code=linecache.getline(frame.file, frame.line).strip())


def innermost_own(frames: tuple[Frame, ...]) -> Frame | None:
    own = [frame for frame in frames if not frame.is_library] or list(frames)
    return own[-1] if own else None


def said_in(message: str) -> str:
    inner = _PASSED_ON.search(message) or _IN_USER_CODE.search(message)
    first, *others = [inner["said"]] if inner else telling_lines(message) or [""]
    first = _BEFORE_IT.sub("", first.strip())
    # "Errors while loading:" announces what the next line tells.
    announced = f" {others[0].strip()}" if others and first.rstrip().endswith(":") else ""
    return f"{first.strip()}{announced}"


def telling_lines(message: str) -> list[str]:
    """The lines of a message without those that only say where; all of them if none is left."""
    lines = [line for line in message.splitlines() if line.strip()]
    return [line for line in lines if not _SAYS_WHERE.match(line)] or lines


def without_arrays(message: str) -> str:
    return _ARRAY_ROWS.sub("", message)


def bare(name: str) -> str:
    return name.rpartition(".")[2]


def with_builtin_bases(names: tuple[str, ...]) -> frozenset[str]:
    found = {bare(name) for name in names}
    if "error" in names:
        found.add("RuntimeError")  # what a program calls an error, without a class
    for name in tuple(found):
        cls = getattr(builtins, name, None)
        if isinstance(cls, type) and issubclass(cls, BaseException):
            found |= {base.__name__ for base in cls.__mro__[:-1]}
    return frozenset(found)


def from_event(event: ExceptionRaised) -> Raised:
    names = (event.class_name, *event.bases)
    # An error from tf.py_function or from_generator holds the traceback of the
    # user's function in its message.
    told = frames_in(event.message.splitlines())
    own = next((frame for frame in reversed(told) if not frame.is_library), None)
    if own and event.file.endswith(f"/{own.file}"):  # XLA leaves out what its paths begin with
        own = replace(own, file=event.file)
    return Raised(
        name=bare(event.class_name),
        names=with_builtin_bases(names),
        message=event.message,
        file=own.file if own else event.file,
        line=own.line if own else event.line,
        function=own.function if own else event.function,
        callback=event.callback,
        frames=frames_in(event.traceback.splitlines()),
        module=event.class_name.rpartition(".")[0],
    )


def raised_by_ours(raised: Raised) -> Frame | None:
    if raised.module.partition(".")[0] == "pitstop":
        return None  # meant for the user, and says what to do
    return frame_of_ours(raised.frames)


def frame_of_ours(frames: tuple[Frame, ...]) -> Frame | None:
    """Pitstop's frame that failed, also through the standard library; else None."""
    others = (each for each in reversed(frames) if not _STANDARD.search(each.posix_path))
    inner = next(others, None)
    is_ours = inner is not None and bool(_OURS.search(inner.posix_path))
    return inner if is_ours and inner and not _PASSES_ON.search(inner.code) else None
