"""Code that counts as the script's: installed packages that train, and modules of equal names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.values import reachable
from tests.engine.script_state.scripted import begun, carried, process, saved_of

_COUNTING = """
STEPS = 0
MADE = []
class Clock:
    ticks = 0
class Entry:
    pass
def tick():
    global STEPS
    STEPS += 1
    Clock.ticks += 2
    MADE.append(Entry())
def batches():
    while True:
        tick()
        yield STEPS
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., types.ModuleType]:
    """Installs packages and imports them, as another process would each time."""
    folder = tmp_path / "site-packages"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "keras", types.ModuleType("keras"))
    process("", monkeypatch, tmp_path)

    def install(package: str, **texts: str) -> types.ModuleType:
        (folder / package).mkdir(parents=True, exist_ok=True)
        for name, text in {"__init__": "", **texts}.items():
            (folder / package / f"{name}.py").write_text(text)
        for name in [each for each in sys.modules if each.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        for name in texts:
            importlib.import_module(f"{package}.{name}")
        return sys.modules[package]

    return install


def test_a_package_that_is_built_on_keras_counts_as_the_scripts(
    installed: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = process("import team\ndef act(): team.counting.tick()", monkeypatch, tmp_path)
    texts = {"counting": _COUNTING, "layers": "import keras"}
    installed("team", **texts)
    script = run()
    state = begun(loss=script.act)
    script.act()
    now = installed("team", **texts).counting
    carried(state, begun(loss=run().act))
    assert (now.STEPS, now.Clock.ticks) == (1, 2)


def test_a_package_that_keras_is_given_a_function_of_counts_too(
    installed: Callable[..., Any],
) -> None:
    team = installed("team", counting=_COUNTING)
    state = begun(loss=team.counting.tick)
    team.counting.tick()
    now = installed("team", counting=_COUNTING).counting
    carried(state, begun(loss=now.tick))
    assert (now.STEPS, now.Clock.ticks) == (1, 2)


def test_a_package_whose_generator_is_read_counts_too(installed: Callable[..., Any]) -> None:
    team = installed("team", counting=_COUNTING)
    batches = team.counting.batches()
    state = begun(x=batches)
    next(batches)
    assert saved_of(state)[0]["team.counting:"]["content"]["STEPS"] == 1


@pytest.mark.parametrize("package", ["helpers", "sklearn"])
def test_other_packages_that_a_script_calls_are_not_searched(
    package: str,
    installed: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = "import keras" if package == "sklearn" else ""
    installed(package, counting=_COUNTING, other=other)
    source = f"import {package}\ndef act(): {package}.counting.tick()"
    script = process(source, monkeypatch, tmp_path)()
    state = begun(loss=script.act)
    script.act()
    assert (saved_of(state)[0], state.unverified) == ({}, [])


def test_a_second_module_of_the_same_name_has_globals_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process("", monkeypatch, tmp_path)

    def load(folder: str) -> types.ModuleType:
        path = tmp_path / folder / "config.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_COUNTING)
        spec = importlib.util.spec_from_file_location("config", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def modules() -> list[types.ModuleType]:
        monkeypatch.setattr(reachable, "_NAMESPACES", {})
        both = [load("first"), load("second")]
        monkeypatch.setitem(sys.modules, "config", both[0])
        return both

    def step_of(both: list[types.ModuleType]) -> Any:
        names: dict[str, Any] = {"one": both[0], "other": both[1], "__name__": "script"}
        source = "def act():\n    one.tick()\n    other.tick()"
        exec(compile(source, str(tmp_path / "script.py"), "exec"), names)
        return names["act"]

    before = modules()
    state = begun(loss=step_of(before))
    before[0].tick()
    before[1].tick()
    before[1].tick()
    saved, arrays = saved_of(state)
    after = modules()
    into = begun(loss=step_of(after))
    assert [*state.unverified, *into.restore(saved, arrays, read_ahead=False)] == []
    assert [(each.STEPS, each.Clock.ticks) for each in after] == [(1, 2), (2, 4)]
    assert type(after[1].MADE[0]) is after[1].Entry
