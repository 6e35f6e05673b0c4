"""The fixed cost of a run: processor time of `pitstop` before the script starts and after its end.

usage: python -m benchmarks.start [--rounds N]

The script is a shell that reads its parent's clock in /proc, waits, and reads it again. What the
machine does beside it changes the wall time a good deal and these figures little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
_SCRIPT = "cat /proc/$PPID/stat; sleep 3; cat /proc/$PPID/stat"


def main() -> None:
    """Measures some rounds and prints their medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = [_round() for _ in range(parser.parse_args().rounds)]
    for name in rounds[0]:
        print(f"{name:<24} {statistics.median(each[name] for each in rounds):.2f} s")


def _round() -> dict[str, float]:
    version, _ = _processor_seconds("--version")
    with tempfile.TemporaryDirectory() as folder:
        place = ("--run-dir", str(Path(folder) / "run"))
        whole, output = _processor_seconds("run", *place, "--", "sh", "-c", _SCRIPT)
    begin, end = (_clock_seconds(line) for line in output.splitlines())
    # What is loaded beside the script is in neither of the two.
    return {"--version": version, "from run to exec": begin, "from end to exit": whole - end}


def _processor_seconds(*words: str) -> tuple[float, str]:
    """What a call took, without its children, and what it printed."""
    process = subprocess.Popen([*_PITSTOP, *words], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    # It has ended, and its line in /proc is there until somebody waits for it.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = _clock_seconds(Path(f"/proc/{process.pid}/stat").read_text())
    process.wait()
    return seconds, output


def _clock_seconds(stat: str) -> float:
    """Processor time of a process, from its line in /proc, see proc(5)."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
