"""The exception that left the script, as reported or as printed."""

from __future__ import annotations

from pitstop.diagnosis.exception import Frame, Raised, bare, frames_in, with_builtin_bases
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.tracebacks import find
from pitstop.events import ExceptionRaised

__all__ = ["Raised", "from_event", "from_output"]


def from_event(event: ExceptionRaised) -> Raised:
    """The exception that the trainer reported."""
    names = (event.class_name, *event.bases)
    own = _own_frame_in(event.message)
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


def from_output(text: str) -> Raised | None:
    """The exception that was printed last in a cleaned text, None when none was."""
    found = [each for each in find(tuple(split(text))) if each.headed and not each.is_cut]
    return found[-1].raised if found else None


def _own_frame_in(message: str) -> Frame | None:
    # An error from tf.py_function or from_generator holds the traceback of the
    # user's function in its message.
    own = [frame for frame in frames_in(message.splitlines()) if not frame.is_library]
    return own[-1] if own else None
