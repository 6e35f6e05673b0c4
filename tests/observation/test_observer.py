"""The observer over a real child; the out-of-memory kill is a real one where allowed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.machine.cgroup import find
from pitstop.observation import Observer
from pitstop.observation.kernel_log import parse_oom_kill
from pitstop.observation.observer import (
    NO_KERNEL_LOG,
    NO_OOM_COUNTER,
    OTHER_PID_NUMBERS,
    read_limits,
)

LIMIT_BYTES = 40 << 20
WAIT_THEN = "import sys; sys.stdin.readline(); "
EAT = WAIT_THEN + "hoard = []\nwhile True: hoard.append(bytearray(b'x' * (1 << 20)))"


def start(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", code], stdin=subprocess.PIPE)


def watch(child: subprocess.Popen[bytes], root: Path = Path("/")) -> tuple[int, dict[str, Any]]:
    """Observes the child from its start to its end; returns its wait status too."""
    observer = Observer(child.pid, root)
    return let_end(child, observer)


def let_end(child: subprocess.Popen[bytes], observer: Observer) -> tuple[int, dict[str, Any]]:
    assert child.stdin
    child.stdin.write(b"go\n")
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, observer.end(usage)


@pytest.fixture
def memory_cgroup() -> Iterator[Path]:
    """A new v1 or v2 memory cgroup with a small limit below our own."""
    own = find(os.getpid())
    if own is None or not os.access(own.folder, os.W_OK):
        pytest.skip("no writable memory cgroup on this machine")
    folder = own.folder / f"pitstop-test-{os.getpid()}"
    folder.mkdir()
    limit = folder / ("memory.limit_in_bytes" if own.version == 1 else "memory.max")
    if not limit.exists():
        folder.rmdir()
        pytest.skip("the memory controller is not delegated here")
    limit.write_text(str(LIMIT_BYTES))
    yield folder
    folder.rmdir()


def test_a_real_out_of_memory_kill_is_counted_and_found_in_the_log(memory_cgroup: Path) -> None:
    child = start(EAT)
    (memory_cgroup / "cgroup.procs").write_text(str(child.pid))
    code, seen = watch(child)
    assert code == -9
    assert seen["oom_kills"] == 1
    assert seen["memory_limit_bytes"] == LIMIT_BYTES
    assert seen["max_rss_bytes"] is not None
    assert seen["max_rss_bytes"] > LIMIT_BYTES // 2
    if seen["kernel_lines"] is not None and OTHER_PID_NUMBERS not in seen["missing"]:
        kills = [parse_oom_kill(line) for line in seen["kernel_lines"]]
        assert {kill.pid for kill in kills if kill} == {child.pid}


def test_a_move_into_another_cgroup_is_followed(memory_cgroup: Path) -> None:
    child = start(EAT)
    observer = Observer(child.pid)
    (memory_cgroup / "cgroup.procs").write_text(str(child.pid))
    observer.sample(child.pid)
    assert observer.cgroup.endswith(memory_cgroup.name)
    _, seen = let_end(child, observer)
    assert seen["oom_kills"] == 1


def test_a_kill_from_outside_leaves_no_trace_of_memory() -> None:
    code, seen = watch(start(WAIT_THEN + "import os; os.kill(os.getpid(), 9)"))
    assert code == -9
    assert not seen["oom_kills"]
    assert not seen["kernel_lines"]


@pytest.mark.parametrize(
    ("crash", "is_logged"),
    [("ctypes.string_at(0)", True), ("os.kill(os.getpid(), signal.SIGSEGV)", False)],
)
def test_a_crash_is_logged_by_the_kernel_and_a_signal_is_not(crash: str, is_logged: bool) -> None:
    child = start(WAIT_THEN + f"import ctypes, os, signal; {crash}")
    code, seen = watch(child)
    assert code == -signal.SIGSEGV
    if seen["kernel_faults"] is None:
        pytest.skip("the kernel does not tell of crashes here")
    assert any(f"[{child.pid}]" in line for line in seen["kernel_faults"]) == is_logged
    ages = seen["kernel_fault_ages_seconds"]
    assert ages is None or [age < 1 for age in ages] == [True] * len(seen["kernel_faults"])


def test_processor_time_and_limits_of_the_child() -> None:
    child = start(WAIT_THEN + "import time\nwhile time.process_time() < 0.2: pass")
    _, seen = watch(child)
    assert seen["cpu_seconds"] is not None
    assert 0.2 <= seen["cpu_seconds"] < 5
    assert seen["limits"]["open_files"]["soft"] > 0


def test_what_cannot_be_seen_is_said(tmp_path: Path) -> None:
    _, seen = watch(start(WAIT_THEN), root=tmp_path)
    assert seen["oom_kills"] is None
    assert seen["kernel_lines"] is None
    assert seen["memory_limit_bytes"] is None
    assert seen["missing"] == [NO_OOM_COUNTER, NO_KERNEL_LOG]


def test_inside_a_pid_namespace_the_kernel_counts_processes_differently(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text("")
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532999]")
    _, seen = watch(start(WAIT_THEN), root=tmp_path)
    assert seen["kernel_lines"] == []
    assert seen["missing"] == [NO_OOM_COUNTER, OTHER_PID_NUMBERS]


@pytest.mark.parametrize(("most", "soft"), [("7", 7), ("max", None)])
def test_the_lower_limit_of_processes_counts(tmp_path: Path, most: str, soft: int | None) -> None:
    group = tmp_path / "sys/fs/cgroup/pids/job"
    group.mkdir(parents=True)
    (group / "pids.max").write_text(f"{most}\n")
    for name in ("self", str(os.getpid())):
        (tmp_path / "proc" / name).mkdir(parents=True)
        (tmp_path / "proc" / name / "cgroup").write_text("8:pids:/job\n")
    (tmp_path / "proc/self/mountinfo").write_text(
        "30 29 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    )
    limits = read_limits(os.getpid(), tmp_path)
    assert limits is not None
    user = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    unlimited = None if user == resource.RLIM_INFINITY else user
    assert limits["processes"]["soft"] == (soft or unlimited)
