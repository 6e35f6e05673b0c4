"""Runs our code in the place of functions of libraries."""

import functools
from collections.abc import Callable
from typing import Any

Original = Callable[..., Any]  # a function in whose place code of ours runs
Around = Callable[..., Any]
"""What runs in the place of a function: given that function, and the arguments of the call."""


def hook(owner: Any, name: str, around: Around) -> None:
    """Leads all calls of a function of a module, or of a method of a class, through `around`."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, call)
