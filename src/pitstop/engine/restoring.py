"""Ends the script where our own code fails while a saved state is restored."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pitstop.engine.fence import FENCE
from pitstop.engine.witness import is_own_file

_P = ParamSpec("_P")
_R = TypeVar("_R")


def restoring(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Fences what restores a saved state: where our code fails in it, the script ends.

    A state that is not as ours are makes it fail.  What the script's own code raises, such as
    a generator that is read again, comes out as it is.
    """

    @functools.wraps(function)
    def restore(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
            if is_own_file(innermost.f_code.co_filename):
                FENCE.note(function.__qualname__, error, spoils=True)
            raise

    return restore
