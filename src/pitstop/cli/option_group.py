"""Options that belong together, as one value of a command."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]
"""A decorator of click's."""


def option_group(
    name: str, make: Callable[..., object], *options: Option
) -> Callable[[_Command], _Command]:
    """A decorator that adds options to a command, which gets one value `name` for all of them.

    `make` is given the options' values by their names.  The help lists them in this order.
    """

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_value(*arguments: Any, **given: Any) -> Any:
            own = {each: given.pop(each) for each in names}
            return command(*arguments, **given, **{name: make(**own)})

        for option in reversed(options):
            option(with_value)
        # `click` collects the parameters of a command here, the last one first.
        names = [each.name for each in vars(with_value)["__click_params__"][-len(options) :]]
        return cast(_Command, with_value)

    return decorate
