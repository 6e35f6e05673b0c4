"""The import hook tells of modules when they are there, and only then."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.inject import autoload
from pitstop.inject.autoload import ImportWatcher

Watch = Callable[..., list[str]]


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Watches modules of a folder of its own, and lists what was told."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)

    def begin(*names: str) -> list[str]:
        told: list[str] = []

        def notify(name: str) -> Callable[[], None]:
            return lambda: told.append(f"{name} {getattr(sys.modules[name], 'DONE', False)}")

        sys.meta_path.insert(0, ImportWatcher({name: notify(name) for name in names}))
        return told

    yield begin
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_it_tells_when_the_module_is_complete(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_a.py").write_text("DONE = True\n")
    told = watch("framework_a")
    importlib.import_module("framework_a")
    importlib.import_module("framework_a")
    assert told == ["framework_a True"]


def test_a_package_is_told_when_all_of_it_is_there(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_b").mkdir()
    (tmp_path / "framework_b" / "__init__.py").write_text("from . import inner\nDONE = True\n")
    (tmp_path / "framework_b" / "inner.py").write_text("")
    told = watch("framework_b")
    importlib.import_module("framework_b.inner")
    assert told == ["framework_b True"]


def test_looking_for_a_module_is_not_importing_it(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_c.py").write_text("DONE = True\n")
    told = watch("framework_c")
    assert importlib.util.find_spec("framework_c") is not None
    assert told == []
    importlib.import_module("framework_c")
    assert told == ["framework_c True"]


def test_a_module_that_imports_another_one(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_d.py").write_text("import framework_e\nDONE = True\n")
    (tmp_path / "framework_e.py").write_text("DONE = True\n")
    told = watch("framework_d", "framework_e")
    importlib.import_module("framework_d")
    assert told == ["framework_e True", "framework_d True"]


def test_a_module_that_fails_is_not_told_and_may_be_tried_again(
    tmp_path: Path, watch: Watch
) -> None:
    (tmp_path / "framework_f.py").write_text("raise RuntimeError('no driver')\n")
    told = watch("framework_f")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no driver"):
            importlib.import_module("framework_f")
    assert told == []


def test_a_module_that_is_not_there(watch: Watch) -> None:
    told = watch("framework_missing")
    with pytest.raises(ModuleNotFoundError, match="framework_missing"):
        importlib.import_module("framework_missing")
    assert told == []


def test_the_module_looks_as_if_nobody_had_watched(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_g.py").write_text("DONE = True\n")
    plain: Any = importlib.import_module("framework_g")
    loader = type(plain.__loader__)
    del sys.modules["framework_g"]
    watch("framework_g")
    module: Any = importlib.import_module("framework_g")
    assert type(module.__loader__) is type(module.__spec__.loader) is loader
    assert module.__file__ == str(tmp_path / "framework_g.py")
    assert importlib.reload(module).DONE


def test_other_modules_are_not_touched(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "framework_h.py").write_text("DONE = True\n")
    told = watch("framework")
    importlib.import_module("framework_h")
    assert told == []


def test_a_failure_of_ours_leaves_the_import_as_it_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    # Those that this process has imported would be watched from now on.
    monkeypatch.setattr(autoload, "_FRAMEWORKS", ())
    (tmp_path / "framework_i.py").write_text("DONE = True\n")

    def fail() -> None:
        raise ImportError("this version has another layout")

    autoload.install(str(tmp_path / "nobody"), {"framework_i": fail})
    assert importlib.import_module("framework_i").DONE
    del sys.modules["framework_i"]


def test_the_user_is_told_once_if_nothing_of_ours_can_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ImportError("no module of ours")

    watch = autoload._Autoload("")
    monkeypatch.setattr(watch, "_give_up", fail)
    watch.guarded(fail)()
    watch.guarded(fail)()
    said = capsys.readouterr().err
    assert said.count("can save nothing (ImportError: no module of ours)") == 1
