"""Which installed package a process runs."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from pitstop.engine import frames, program
from pitstop.engine.files import made_folders
from pitstop.engine.files.file_looks import FileLooks

_CONSOLE_SCRIPT = str(Path(sysconfig.get_path("scripts")) / "pitstop")


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (("-m", "lab.train", "--epochs", "3"), "lab"),
        (("-u", "-X", "dev", "-mlab"), "lab"),
        (("train.py", "-m", "lab"), ""),
        (("-c", "import lab"), ""),
        (("-",), ""),
        ((), ""),
        ((_CONSOLE_SCRIPT, "run"), "pitstop"),
    ],
)
def test_the_package_of_a_command(arguments: tuple[str, ...], package: str) -> None:
    assert program.package_of(arguments) == package


@pytest.mark.parametrize(
    ("file", "is_user"),
    [
        ("/opt/venv/lib/python3.11/site-packages/lab/models.py", True),
        ("/opt/venv/lib/python3.11/site-packages/lab.py", True),
        ("/opt/venv/lib/python3.11/site-packages/labels/models.py", False),
        ("/opt/venv/lib/python3.11/site-packages/keras/lab/models.py", False),
    ],
)
def test_the_package_that_runs_is_the_users(
    file: str, is_user: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "lab.train"])
    frames.is_user_file.cache_clear()
    code = compile("import sys; frame = sys._getframe()", file, "exec")
    names = dict[str, object]()
    exec(code, names)
    found = made_folders.script_frame(names["frame"])  # type: ignore[arg-type]
    assert frames.is_user_file(file) is is_user
    assert (found is names["frame"]) is is_user
    frames.is_user_file.cache_clear()


def test_packages_that_an_installer_put_into_another_folder_are_no_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install --target FOLDER`, with the script's own files in the same folder."""
    records = tmp_path / "framework-1.0.dist-info" / "RECORD"
    records.parent.mkdir()
    records.write_text(
        "framework/__init__.py,sha256=x,10\nlone.py,sha256=x,2\n"
        "framework-1.0.dist-info/RECORD,,\n../../bin/framework,sha256=x,3\n"
    )
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    of_users = {
        "framework/layers.py": False,
        "lone.py": False,
        "framework_of_mine/layers.py": True,
        "train.py": True,
    }
    for name, is_user in of_users.items():
        assert frames.is_user_file(str(tmp_path / name)) is is_user, name


def test_to_ask_what_is_installed_is_no_look_at_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks at files is asked whose it is: that must not ask the same again."""
    records = tmp_path / "framework-1.0.dist-info" / "RECORD"
    records.parent.mkdir()
    records.write_text("framework/__init__.py,sha256=x,10\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    told = list[object]()
    looks = FileLooks(lambda *found: told.append(found), told.append)
    looks.begin()
    try:
        assert program.is_installed(str(tmp_path / "framework" / "layers.py"))
    finally:
        looks.end()
    assert not told
