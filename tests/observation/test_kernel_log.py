"""Lines of the kernel log, copied from real kernels (6.18; v1 cgroup and whole machine)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pitstop.observation.kernel_log import (
    KernelLog,
    KernelMessage,
    OomKill,
    faults,
    least_ages,
    parse_oom_kill,
    select,
)

SUMMARY = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
    "oom_memcg=/jobs,task_memcg=/jobs/a,task=python,pid=4225,uid=0"
)
KILLED = (
    "Memory cgroup out of memory: Killed process 4225 (python) total-vm:74228kB, "
    "anon-rss:64936kB, file-rss:3560kB, shmem-rss:0kB, UID:0 pgtables:188kB oom_score_adj:0"
)
GLOBAL_SUMMARY = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
    "task_memcg=/user.slice,task=my, odd (name),pid=77,uid=1000"
)
GLOBAL_KILLED = "Out of memory: Killed process 77 (my, odd (name)) total-vm:1kB, anon-rss:2kB"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (SUMMARY, OomKill(4225, "/jobs/a", False)),
        (KILLED, OomKill(4225, "", False)),
        (GLOBAL_SUMMARY, OomKill(77, "/user.slice", True)),
        ("python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0", None),
        ("python[77]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6", None),
        ("Tasks in /jobs/a killed as a result of limit of /jobs", None),
    ],
)
def test_parse(line: str, expected: OomKill | None) -> None:
    assert parse_oom_kill(line) == expected


def test_parse_of_a_command_with_brackets_keeps_the_pid() -> None:
    kill = parse_oom_kill(GLOBAL_KILLED)
    assert kill is not None
    assert (kill.pid, kill.whole_machine) == (77, True)


def test_crashes_are_told_by_the_kernel_and_kills_are_not() -> None:
    crashes = [
        "python[23597]: segfault at 0 ip 00007fecda185ad8 sp 00007f error 4 in libc.so.6[167ad8]",
        "tf_Compute[2924]: segfault at 10 ip 00007f sp 00007f error 6",
        "traps: python[2290] trap invalid opcode ip:7fb625e4f000 sp:7ffcd9a035d8 error:0 in zero",
        "traps: my tool[7] general protection fault ip:7f sp:7f error:0 in libc.so.6",
    ]
    others = [KILLED, "eth0: trap ", "audit: segfault"]
    logged = [KernelMessage(text, 7.0) for text in (*crashes, *others)]
    assert [each.text for each in faults(logged)] == crashes


AN_HOUR = 3600.0
A_MONTH = 30 * 24 * AN_HOUR


@pytest.mark.parametrize(
    ("stamps", "opened", "now", "corrected", "expected"),
    [
        ([], 0.0, 100.0, 0.0, []),
        # Less what the clocks may differ by.
        ([40.0, 90.0], 10.0, 100.0, 0.0, [58.998, 8.998]),
        ([40.0, 90.0], 10.0, 100.0, 5.0, [48.998, 0.0]),
        ([A_MONTH - AN_HOUR], A_MONTH - 2 * AN_HOUR, A_MONTH, 30.0, [AN_HOUR - 112.84]),
        ([99.9, 100.4], 10.0, 100.0, 0.0, [0.0, 0.0]),  # no message is from the future
        ([40.0, 5000.0], 10.0, 100.0, 0.0, None),  # our clock is another one: a time namespace
        ([40.0, 90.0], 80.0, 100.0, 0.0, None),  # from before the log was opened
        ([40.0, None], 10.0, 100.0, 0.0, None),
    ],
)
def test_the_least_age_of_messages(
    stamps: list[float | None],
    opened: float,
    now: float,
    corrected: float,
    expected: list[float] | None,
) -> None:
    logged = [KernelMessage("python[1]: segfault at 0", stamp) for stamp in stamps]
    ages = least_ages(logged, opened, now, corrected)
    assert ages == (expected if expected is None else pytest.approx(expected))


LINES = ["noise", SUMMARY, KILLED, GLOBAL_SUMMARY, GLOBAL_KILLED]


@pytest.mark.parametrize(
    ("pids", "cgroup", "expected"),
    [
        ({4225}, "", [SUMMARY, KILLED]),
        ({1}, "/jobs/a", [SUMMARY, KILLED]),
        ({1}, "/a", [SUMMARY, KILLED]),  # as a container names its own cgroup
        ({1}, "/jobs", [SUMMARY, KILLED]),  # a child of our cgroup
        ({1}, "/", []),  # the root would match every kill of the machine
        ({1}, "/other", []),
        ({77}, "/other", [GLOBAL_SUMMARY, GLOBAL_KILLED]),
    ],
)
def test_select_by_process_or_cgroup(pids: set[int], cgroup: str, expected: list[str]) -> None:
    assert select(LINES, frozenset(pids), cgroup) == expected


def test_reads_messages_without_prefix_and_continuation_lines(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    path.write_text("6,1,1,-;before we came\n")
    log = KernelLog(path)
    with path.open("a") as file:
        file.write("3,2,5,-;Killed; really\n SUBSYSTEM=memory\n4,3,6,-;next\n")
    assert log.read() == [KernelMessage("Killed; really", 5e-6), KernelMessage("next", 6e-6)]
    assert log.read() == []
    log.close()


def test_a_record_without_a_prefix_has_no_stamp(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    path.write_text("")
    log = KernelLog(path)
    path.write_text("bare words\n4,x;no number\n")
    assert log.read() == [KernelMessage("bare words", None), KernelMessage("no number", None)]
    log.close()


def test_a_log_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        KernelLog(tmp_path / "kmsg")


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK | os.W_OK), reason="needs /dev/kmsg")
def test_the_real_log_starts_empty_and_shows_what_comes() -> None:
    log = KernelLog()
    opened, marker = time.monotonic(), f"pitstop test {os.getpid()}"
    Path("/dev/kmsg").write_text(f"<6>{marker}\n")
    logged = log.read()
    assert marker in [each.text for each in logged]
    ages = least_ages(logged, opened, time.monotonic(), 1.0)
    assert ages is None or max(ages) < 1
    log.close()
