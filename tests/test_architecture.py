"""The shape of the code: layers, sizes, and which process imports what."""

from __future__ import annotations

import ast
import graphlib
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop import errors
from tests.source_tree import ROOT, SOURCE, Module, layers, modules, project, third_party

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_MEDIAN_FUNCTION_LINES = 8

WITHOUT_TENSORFLOW = (
    "cli",
    "comparison",
    "diagnosis",
    "doctor",
    "drill",
    "errors",
    "events",
    "flight",
    "journal",
    "launch",
    "link",
    "machine",
    "observation",
    "remote",
    "report",
    "snapshot",
    "store",
    "supervisor",
    "watch",
)
"""Units whose every module can be imported where no TensorFlow is."""

IN_THE_TRAINER = (
    "pitstop.errors",
    "pitstop.events",
    "pitstop.link",
    "pitstop.engine",
    "pitstop.inject",
    "pitstop.snapshot.arena",
    "pitstop.store.image",
)
"""Imported into the user's process before TensorFlow is: must be light."""

ADAPTERS = ("keras", "loop", "replay", "tensorflow")

_MODULES = modules()
_RANK = {unit: rank for rank, units in enumerate(layers()) for unit in units}


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


# -- layers --------------------------------------------------------------------


def test_imports_point_down() -> None:
    # The root package is where names are re-exported, above all layers.
    assert not {module.name: wrong for module in _MODULES[1:] if (wrong := _upward(module))}


def _upward(module: Module) -> list[str]:
    """The units above a module, or beside it, that it imports."""
    own_rank = _RANK[module.unit]
    units = {Module(_path_of(name)).unit for name in module.imports if name.startswith("pitstop.")}
    return sorted(unit for unit in units - {module.unit, ""} if _RANK[unit] <= own_rank)


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for module in _MODULES:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module.name)
    assert not {name: where for name, where in found.items() if len(where) > 1}


def test_every_thread_has_a_name_that_the_architecture_lists() -> None:
    listed = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Threads")[2]
    names = [name for module in _MODULES for name in _thread_names(module)]
    assert names
    assert not [name for name in names if f"`{name}`" not in listed]


def _thread_names(module: Module) -> Iterator[str]:
    """The name, up to its variable part, of each thread or pool; empty for one without."""
    for call in ast.walk(module.tree):
        if not isinstance(call, ast.Call):
            continue
        made = ast.unparse(call.func).rpartition(".")[2]
        if made == "Thread":
            named = [each.value for each in call.keywords if each.arg == "name"]
            yield from (text for each in named for text in _names(each)) if named else [""]
        elif made == "ThreadPoolExecutor":
            yield from _names(call.args[1]) if len(call.args) > 1 else [""]
        elif made == "Watcher":
            yield from _names(call.args[0])


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.JoinedStr):
        return [f"{_names(node.values[0])[0]}1"]
    # A variable holds what the maker of a `Watcher` says.
    return [str(node.value)] if isinstance(node, ast.Constant) else []


def test_modules_import_each_other_without_cycles() -> None:
    graph = {module.name: module.imports - {module.name} for module in _MODULES}
    order = graphlib.TopologicalSorter(graph)
    order.prepare()  # raises CycleError, which names the cycle


def test_every_unit_has_a_layer_and_every_layer_a_unit() -> None:
    assert {module.unit for module in _MODULES} - {""} == set(_RANK)


def test_third_party_imports_are_declared() -> None:
    found = {module.name: third_party(module) - _declared(module.unit) for module in _MODULES}
    assert not {name: undeclared for name, undeclared in found.items() if undeclared}


def _declared(unit: str) -> set[str]:
    """The packages that a unit may import, by the names they are imported by."""
    requirements = project()["project"]["dependencies"]
    extras = project()["project"]["optional-dependencies"]
    if unit in {*ADAPTERS, "inject"}:
        requirements = [*requirements, *extras["tensorflow"]]
    if unit == "remote":
        requirements = [*requirements, *extras["remote"]]
    return {_import_name(requirement) for requirement in requirements}


def _import_name(requirement: str) -> str:
    name = re.split(r"[<>=!~\[ ;]", requirement)[0].replace("-", "_")
    return "tensorflow" if name == "tensorflow_cpu" else name


def _path_of(name: str) -> Path:
    plain = SOURCE.joinpath(*name.split("."))
    return plain / "__init__.py" if plain.is_dir() else plain.with_suffix(".py")


# -- sizes and form ------------------------------------------------------------


def test_a_file_fits_one_sitting() -> None:
    sizes = {module.name: len(module.text.splitlines()) for module in _MODULES}
    assert not {name: size for name, size in sizes.items() if size >= MAX_FILE_LINES}


def test_a_function_fits_one_screen() -> None:
    sizes = {
        f"{module.name}.{function.name}": _lines(function)
        for module in _MODULES
        for function in module.functions()
    }
    assert not {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES}


def test_functions_are_short_in_the_median() -> None:
    sizes = [_lines(function) for module in _MODULES for function in module.functions()]
    assert statistics.median(sizes) <= MAX_MEDIAN_FUNCTION_LINES


def test_a_module_says_what_it_is() -> None:
    assert not [module.name for module in _MODULES if not ast.get_docstring(module.tree)]


def test_a_public_function_says_which_error_of_ours_it_raises() -> None:
    # The errors of the commands end in the terminal.
    ours = {error.__name__ for error in vars(errors).values() if isinstance(error, type)}
    assert not [
        f"{module.name}.{function.name}: {name}"
        for module in _MODULES
        if module.unit != "cli"
        for function in module.functions()
        if not function.name.startswith("_")
        for name in sorted(_raised(function) & ours)
        if name not in (ast.get_docstring(function) or "")
    ]


def _raised(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of the errors that a function makes and raises."""
    made = [each.exc for each in ast.walk(function) if isinstance(each, ast.Raise)]
    calls = [each.func for each in made if isinstance(each, ast.Call)]
    return {each.id for each in calls if isinstance(each, ast.Name)}


def test_a_package_init_only_re_exports() -> None:
    inits = [module for module in _MODULES if module.path.name == "__init__.py"]
    others = {
        module.name: [ast.unparse(node) for node in module.tree.body[1:] if not _is_re_export(node)]
        for module in inits
    }
    assert not {name: statements for name, statements in others.items() if statements}


def _is_re_export(node: ast.stmt) -> bool:
    """An import, `__all__ = ...`, `__version__ = ...`, or a lazy `__getattr__`."""
    if isinstance(node, ast.Assign):
        return all(isinstance(name, ast.Name) and name.id[:2] == "__" for name in node.targets)
    if isinstance(node, ast.FunctionDef):
        return node.name == "__getattr__"
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Import | ast.ImportFrom)


# -- what a process really imports ---------------------------------------------


def _loaded_by(names: list[str]) -> set[str]:
    """Top-level modules that a fresh interpreter holds more after importing `names`."""
    program = (
        "import sys, importlib; before = set(sys.modules)\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize("unit", WITHOUT_TENSORFLOW)
def test_it_runs_without_tensorflow(unit: str) -> None:
    names = [module.name for module in _MODULES if module.unit == unit]
    assert names
    assert not _loaded_by(names) & {"tensorflow", "keras"}


@pytest.mark.parametrize("unit", ["cli", "snapshot", "supervisor"])
def test_no_network_library_is_loaded_beside_the_training(unit: str) -> None:
    names = [module.name for module in _MODULES if module.unit == unit]
    assert not _loaded_by(names) & {"aiohttp", "botocore", "fsspec", "s3fs"}


def test_the_trainer_is_given_only_the_standard_library_and_numpy() -> None:
    names = [
        module.name
        for module in _MODULES
        if f"{module.name}.".startswith(tuple(f"{name}." for name in IN_THE_TRAINER))
    ]
    allowed = sys.stdlib_module_names | {"pitstop", "numpy"}
    others = _loaded_by(names) - allowed
    # The standard library's record of how Python was built, multiprocessing's name for
    # the main module, and what NumPy's generators are compiled with.
    own = ("_sysconfigdata", "__mp_main__", "_cython", "cython_runtime")
    assert not {name for name in others if not name.startswith(own)}
