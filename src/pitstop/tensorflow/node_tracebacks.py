"""Where the ops of a graph were made, as TensorFlow tells it: without frames of ours."""

from pathlib import Path
from typing import Any

from tensorflow.python.util import tf_stack

from pitstop.engine.fence import observing


class _OursLeftOut(tf_stack.StackTraceFilter):
    """The outermost filter of a thread; those of TensorFlow ask it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.update()

    def get_filtered_filenames(self) -> frozenset[str]:
        return _OURS


_OURS = frozenset(map(str, Path(__file__).parents[1].rglob("*.py")))


@observing()
def leave_out_ours() -> None:
    filters: Any = tf_stack._source_filter_stacks
    filters.default_factory = lambda: [_OursLeftOut()]
    for stack in filters.values():
        stack[0] = _OursLeftOut()
