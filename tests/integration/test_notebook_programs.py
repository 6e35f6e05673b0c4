"""What runs a notebook without anybody who looks: nbclient, `nbconvert --execute`, papermill."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.link.settings import ENV_ENTROPY
from tests.integration.kernel import PLAN, SETUP
from tests.integration.supervisor import launch
from tests.integration.test_notebooks import DATA, FIT, LOAD, MODEL, OUTCOME, RESUMED

PROGRAMS = {
    "nbclient": ("-c", "from nbclient.cli import main; main()", "--inplace", "digits.ipynb"),
    "nbconvert": (
        *("-m", "nbconvert", "--execute", "--to", "notebook", "--output", "ran.ipynb"),
        "digits.ipynb",
    ),
    "papermill": ("-m", "papermill", "digits.ipynb", "ran.ipynb"),
}
_END = re.compile(r"END (.*?)\\n")


def _execute(folder: Path, program: str, plan: str = "") -> subprocess.CompletedProcess[str]:
    nbformat = pytest.importorskip("nbformat")
    new = nbformat.v4
    cells = [LOAD, SETUP, DATA, MODEL, FIT, f"print('END', {OUTCOME})"]
    notebook = new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / "digits.ipynb")
    if plan:
        (folder / PLAN).write_text(plan)
    return subprocess.run(
        [sys.executable, *PROGRAMS[program]],
        cwd=folder,
        env={**launch.environment(), ENV_ENTROPY: "5eed", "HOME": os.fspath(folder)},
        check=False,
        capture_output=True,
        text=True,
    )


def _ran(folder: Path) -> str:
    ran = folder / "ran.ipynb"
    return (ran if ran.exists() else folder / "digits.ipynb").read_text()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_notebook_whose_kernel_was_killed_goes_on_when_it_is_executed_again(
    tmp_path: Path, program: str
) -> None:
    pytest.importorskip(program)
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    assert _execute(whole, program).returncode == 0
    killed = _execute(folder, program, "SIGKILL 21 fit")
    assert killed.returncode != 0
    assert "DeadKernelError" in killed.stderr
    again = _execute(folder, program)
    assert again.returncode == 0, again.stderr
    assert RESUMED in _ran(folder)
    assert _END.findall(_ran(folder)) == _END.findall(_ran(whole)) != []
