"""Commands that start, and commands that cannot."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from pitstop.errors import CommandNotExecutable, CommandNotFound, EnvironmentFault
from pitstop.supervisor.processes.process import (
    explain_refusal,
    find_program,
    hook_folder,
    instrumented_environment,
    pitstop_run,
)


def test_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_program(["tool"], str(tmp_path)) == str(program)
    assert find_program([str(program), "x"], "") == str(program)


def test_absent_program_and_one_that_is_no_program(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    with pytest.raises(CommandNotFound, match="no program 'tool'"):
        find_program(["tool"], str(tmp_path))
    with pytest.raises(CommandNotExecutable, match=r"python .*train\.py"):
        find_program([str(script)], "")


def test_a_command_in_quotation_marks(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(CommandNotFound) as raised:
        find_program(["tool train.py"], str(tmp_path))
    assert "quotation marks" in raised.value.remedy


def test_hook_comes_before_the_user_s_own_path() -> None:
    environment = instrumented_environment({"PYTHONPATH": "mine", "A": "1"}, "/socket")
    assert environment["PYTHONPATH"] == f"{hook_folder()}{os.pathsep}mine"
    assert (environment["PITSTOP_SOCKET"], environment["A"]) == ("/socket", "1")
    assert instrumented_environment({}, "s")["PYTHONPATH"] == str(hook_folder())


def test_hook_is_where_the_package_says() -> None:
    assert (hook_folder() / "sitecustomize.py").is_file()


def test_a_module_of_the_user_does_not_shadow_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('shadowed')")
    words = pitstop_run(tmp_path / "run", ["--help"], ["true"])
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert told.stdout.startswith("Usage: pitstop run")


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOEXEC, CommandNotExecutable), (errno.EAGAIN, EnvironmentFault)],
)
def test_refusals_of_the_kernel(number: int, kind: type[Exception]) -> None:
    error = explain_refusal("tool", OSError(number, os.strerror(number)))
    assert isinstance(error, kind)
    assert os.strerror(number) in str(error)
