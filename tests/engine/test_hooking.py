"""What is hooked is called by what stands in its place, and looks as it did."""

from __future__ import annotations

import inspect
import types
from typing import Any

from pitstop.engine.hooking import Original, hook
from tests.source_tree import modules


class Owner:
    """Of a library."""

    def add(self, one: int, *, other: int = 1) -> int:
        return one + other


def test_a_method_is_led_through_what_is_put_around_it() -> None:
    def doubled(original: Original, owner: Any, one: int, **named: int) -> int:
        return 2 * int(original(owner, one, **named))

    before = inspect.signature(Owner.add)
    hook(Owner, "add", doubled)
    assert Owner().add(3) == 8
    assert Owner().add(3, other=2) == 10
    assert inspect.signature(Owner.add) == before
    assert Owner.add.__name__ == "add"


def test_hooks_of_one_function_add_up_and_the_last_is_asked_first() -> None:
    module, asked = types.SimpleNamespace(find=lambda: "found"), []
    for name in ("first", "second"):

        def look(original: Original, name: str = name) -> str:
            asked.append(name)
            return str(original())

        hook(module, "find", look)
    assert module.find() == "found"
    assert asked == ["second", "first"]


def test_an_argument_of_the_caller_may_have_the_name_of_one_of_ours() -> None:
    """`CheckpointSaverHook(..., saver=...)` failed: what was put around it had a `saver`, too."""
    open_names = [
        f"{module.name}.{function.name}"
        for module in modules()
        for function in module.functions()
        if function.args.vararg and function.args.kwarg
        if any(each.arg == "original" for each in function.args.args)
    ]
    assert not open_names
