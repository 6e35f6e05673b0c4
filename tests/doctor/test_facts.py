"""What there is on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pitstop.doctor.facts import Frameworks, answer, ask, gather

NOBODY = Frameworks("python")


def test_this_machine(tmp_path: Path) -> None:
    found = gather(tmp_path, NOBODY, {})
    assert found.platform == sys.platform
    assert found.kernel == os.uname().release
    assert found.disk_kind
    assert found.disk_free_bytes > 0
    assert found.limits["open_files"]
    assert found.scheduler is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "name", "command"),
    [
        ({"SLURM_JOB_ID": "5"}, "Slurm", "sacct"),
        ({"LSB_JOBID": "5"}, "LSF", "bjobs"),
        ({"PBS_JOBID": "5"}, "PBS", "qstat"),
        ({"SGE_ROOT": "/sge", "JOB_ID": "5"}, "Grid Engine", ""),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "Kubernetes", ""),
        ({"COLAB_RELEASE_TAG": "r"}, "Colab", ""),
    ],
)
def test_a_scheduler_is_known_by_its_variables(
    environment: dict[str, str], name: str, command: str, tmp_path: Path
) -> None:
    found = gather(tmp_path, NOBODY, environment).scheduler
    assert found is not None
    assert (found.name, found.record_command) == (name, command)


def test_an_empty_machine(tmp_path: Path) -> None:
    found = gather(tmp_path, NOBODY, {}, root=tmp_path)
    assert found.memory_cgroup is None
    assert not found.kernel_log
    assert not found.all_pids
    assert not found.stalls
    assert found.shared_memory_bytes is None


def test_the_last_line_counts() -> None:
    told = 'a warning\n{"python": "3.11.1", "versions": {}, "problem": "no", "gpus": 0}\n'
    assert answer("python", told, 0) == Frameworks("python", "3.11.1", {}, 0, "no")


def test_a_python_that_dies_at_the_imports() -> None:
    assert "code -11" in answer("python", "", -11).problem
    assert "code 3" in answer("python", "no json\n", 3).problem


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in ask(str(tmp_path / "python")).problem


def test_a_python_without_tensorflow(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    script.chmod(0o755)
    found = ask(str(script))
    assert found.python
    assert "No module named" in found.problem
