"""Lines of `dmesg` and the journal that somebody put below a training's log."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

BARS = "Epoch 1/3\n8/8 - 1s - loss: 0.9\nEpoch 2/3\n5/8 - 1s - loss: 0.8\n"
SEGFAULT = "segfault at 0 ip 00007fba0a185ad8 sp 00007ffed8b0b038 error 4 in libc.so.6[7fba0+156]"
TRAP = "trap invalid opcode ip:7fb625e4f000 sp:7ffcd9a035d8 error:0 in _pywrap.so[7fb6+1000]"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (f"[47222.543255] python[25744]: {SEGFAULT}", "native_crash"),
        (f"[Sat Nov 21 17:08:20 2026] python3[25744]: {SEGFAULT}", "native_crash"),
        (f"Nov 21 17:08:20 node1 kernel: tf_Compute[2924]: {SEGFAULT}", "native_crash"),
        (f"python[25744]: {SEGFAULT}", "native_crash"),
        (f"[47222.543255] traps: pt_main_thread[2290] {TRAP}", "illegal_instruction"),
        (f"[47222.543255] sshd[25744]: {SEGFAULT}", "unknown"),
        (f"Nov 21 17:08:20 node1 kernel: gnome-shell[2924]: {SEGFAULT}", "unknown"),
        ("[7.1] Out of memory: Killed process 12 (mysqld) total-vm:1kB", "unknown"),
    ],
)
def test_a_crash_of_python_is_told_from_one_of_another_program(lines: str, cause: CauseId) -> None:
    found = findings(Ending(parse(f"{BARS}$ dmesg | tail -1\n{lines}\n")))
    assert (found[0].cause if found else "unknown") == cause
