"""Which imports a spare process may do ahead."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pitstop.engine.library_imports import IMPORTS_FILE, LibraryImports


def _written(imports: LibraryImports, folder: Path) -> list[list[str]] | None:
    imports.write(folder)
    file = folder / IMPORTS_FILE
    return json.loads(file.read_text()) if file.exists() else None


def test_it_lists_modules_of_libraries_with_their_files(tmp_path: Path) -> None:
    imports = LibraryImports()
    imports.look()
    found = _written(imports, tmp_path)
    assert found is not None
    assert ["numpy", np.__file__] in found
    assert {name.partition(".")[0] for name, _ in found}.isdisjoint({"pitstop", "pytest", "json"})


@pytest.mark.parametrize("when", ["before", "between"])
def test_nothing_where_the_script_has_prepared_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    imports = LibraryImports()
    if when == "between":
        imports.look()
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    imports.look()
    assert _written(imports, tmp_path) is None


def test_other_cpus_are_a_preparation_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = LibraryImports()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {77})
    imports.look()
    assert _written(imports, tmp_path) is None


def test_what_comes_behind_the_imports_or_from_them_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = LibraryImports()
    monkeypatch.setenv("TF2_BEHAVIOR", "1")
    imports.look()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert _written(imports, tmp_path) is not None
