"""The names that the code of a function holds."""

from __future__ import annotations

import sys

from pitstop.engine.values import code_names


def test_modules_and_attributes_that_code_names_by_text_are_names_of_it() -> None:
    def by_text() -> None:
        sys.modules["script"].__dict__["treasure"] = None

    def by_name(text: str = "script") -> str:
        return text.strip("-")

    assert {"script", "treasure"} <= code_names.names_in(by_text.__code__)
    assert "-" not in code_names.names_in(by_name.__code__)


def test_attributes_that_code_sets_are_found_behind_many_names() -> None:
    lines = [f"a.name_{number} = 1" for number in range(300)]
    code = compile("\n".join(lines), "made", "exec")
    assert list(code_names.attributes_set_by(code)) == [f"name_{number}" for number in range(300)]
