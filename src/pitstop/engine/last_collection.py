"""The interpreter's last garbage collection, which a stopped script goes without.

Where TensorFlow is loaded it takes a second or more: it looks at a million objects
several times over, while whoever asked for the stop counts down.  The kernel takes
the memory back faster.  But a collection may also close files that only garbage still
holds, and so write out what is in their buffers; that is done here instead, and for
every file.
"""

from __future__ import annotations

import gc
import io

_FRAMEWORK = "tensorflow."


def leave_out() -> None:
    """Writes out what open files have in their buffers, and hides all objects from the collector.

    To be called at the interpreter's exit.  Objects that are in no cycle end as ever.
    """
    known: dict[type, bool] = {}
    for each in gc.get_objects():
        kind = type(each)
        if kind not in known:
            known[kind] = _has_buffer(kind)
        if known[kind]:
            _flush(each)
    gc.freeze()


def _has_buffer(kind: type) -> bool:
    """Whether objects of this class are files, or writers of TensorFlow's."""
    if issubclass(kind, io.IOBase):
        return True
    is_framework = str(kind.__module__).startswith(_FRAMEWORK)
    return is_framework and callable(getattr(kind, "flush", None))


def _flush(file: object) -> None:
    try:
        file.flush()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - of any class, closed or broken; the collector ignores it too
        return
