"""`pitstop diagnose`: the cause from a log, with or without how the process ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pitstop.cli.commands import cli
from tests.report.page.parsed import Page

KILLED = "Epoch 1/5\r 1/100 - loss: 2.3\nKilled\n"
GPU_OOM = """\
Traceback (most recent call last):
  File "train.py", line 31, in <module>
    model.fit(x, y)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:
OOM when allocating tensor with shape[256,64,112,112] and type float on \
/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:__inference_train_1]
"""


def diagnose(folder: Path, text: str, *options: str) -> Result:
    log = folder / "train.log"
    log.write_text(text)
    return CliRunner().invoke(cli, ["diagnose", str(log), *options])


def found(folder: Path, text: str, *options: str) -> dict[str, Any]:
    result = diagnose(folder, text, "--json", *options)
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.output)
    return answer


@pytest.mark.parametrize(
    ("text", "options", "cause"),
    [
        (KILLED, (), "killed_from_outside"),
        ("", ("--exit-code", "137"), "killed_from_outside"),
        ("", ("--signal", "sigkill"), "killed_from_outside"),
        ("", ("--signal", "11"), "native_crash"),
        ("", ("--exit-code", "134"), "native_crash"),
        ("Epoch 5/5\n", ("--exit-code", "0"), "completed_normally"),
        (GPU_OOM, (), "gpu_oom"),
        ("fine so far\n", (), "unknown"),
    ],
)
def test_the_cause(tmp_path: Path, text: str, options: tuple[str, ...], cause: str) -> None:
    assert found(tmp_path, text, *options)["cause"] == cause


def test_a_log_of_a_pipe() -> None:
    """As in `kubectl logs POD | pitstop diagnose -`."""
    result = CliRunner().invoke(cli, ["diagnose", "-"], input=GPU_OOM)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("standard input: ")
    assert "gpu_oom" in result.output
    empty = CliRunner().invoke(cli, ["diagnose", "-", "--json"], input="")
    assert json.loads(empty.output)["cause"] == "unknown"


def test_a_real_import_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import a_module_that_nobody_has"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = found(tmp_path, ended.stderr, "--exit-code", str(ended.returncode))
    assert answer["cause"] == "dependency_or_import_error"
    assert any("a_module_that_nobody_has" in each["text"] for each in answer["evidence"])


def test_what_a_log_cannot_show_is_listed(tmp_path: Path) -> None:
    assert "how the process ended" in found(tmp_path, KILLED)["missing"]
    assert "how the process ended" not in found(tmp_path, KILLED, "--signal", "KILL")["missing"]


def test_text_and_pages(tmp_path: Path) -> None:
    assert "gpu_oom" in diagnose(tmp_path, GPU_OOM).output
    page = tmp_path / "why.md"
    assert diagnose(tmp_path, GPU_OOM, "--md", str(page)).output == ""
    assert "gpu_oom" in page.read_text()
    html = tmp_path / "why.html"
    assert diagnose(tmp_path, GPU_OOM, "--html", str(html)).output == ""
    assert "shape[256,64,112,112]" in Page(html.read_text()).text_of("pre")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--signal", "SIGNOTHING"), "is not a signal"),
        (("--signal", "99"), "99 is not a signal"),
        (("--signal", "9", "--exit-code", "1"), "cannot be used together"),
        (("--exit-code", "256"), "256"),
    ],
)
def test_bad_options(tmp_path: Path, options: tuple[str, ...], word: str) -> None:
    result = diagnose(tmp_path, KILLED, *options)
    assert result.exit_code == 2
    assert word in result.output
