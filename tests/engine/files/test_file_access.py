"""Files that belong to libraries and to the system, not to a training."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.files import file_access


@pytest.mark.parametrize(
    ("path", "is_code"),
    [
        ("train.py", True),
        (".git/HEAD", True),
        ("/home/ada/.keras/keras.json", True),
        (f"{sys.prefix}/lib/python3/site-packages/keras/state.json", True),
        (f"{sys.base_prefix}/share/zoneinfo/UTC", True),
        ("/dev/null", True),
        ("history.json", False),
        ("/system/history.json", False),
        ("/devel/history.json", False),
    ],
)
def test_which_files_are_code(path: str, is_code: bool) -> None:
    assert file_access.is_code(path) is is_code


def test_a_project_in_a_hidden_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / ".work" / "project"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    assert not file_access.is_code(str(project / "history.json"))
    assert file_access.is_code(str(project / ".git" / "HEAD"))


def test_a_working_directory_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert not file_access.is_code("/system/history.json")
    assert file_access.is_code("/dev/null")
    assert not file_access.is_of_project("/system/history.json")


@pytest.mark.parametrize("prefix", [sys.prefix, sys.base_prefix])
def test_a_project_below_the_prefix_of_python(prefix: str) -> None:
    """Such as `/usr/src/app`."""
    assert not f"{prefix}/src/app/history.json".startswith(file_access._ELSEWHERE)


@pytest.mark.parametrize(
    ("file", "is_ignored"),
    [("<frozen importlib._bootstrap_external>", True), ("/home/ada/train.py", False)],
)
def test_files_that_python_opens_to_import_a_module_are_ignored(
    file: str, is_ignored: bool
) -> None:
    names = dict[str, Any]()
    exec(compile("import sys; frame = sys._getframe()", file, "exec"), names)
    assert file_access.is_ignored(names["frame"]) is is_ignored
