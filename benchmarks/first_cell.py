"""What `%load_ext pitstop` adds to a kernel's first cell, and to each cell after it.

usage: python -m benchmarks.first_cell [--rounds N]

Each round is a fresh interpreter with the shell and the imports of a kernel.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

_CELLS = 200
_SHELL = f"""
import json, time
from ipykernel.ipkernel import IPythonKernel
from IPython.core.interactiveshell import InteractiveShell

def measured(cell, times=1):
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        assert shell.run_cell(cell).success
    return [(time.perf_counter() - wall) / times, (time.process_time() - processor) / times]

shell = InteractiveShell.instance()
shell.run_cell("1")
before = measured("x = 1", {_CELLS})
first = measured("%load_ext pitstop")
print(json.dumps({{"a cell without it": before, "%load_ext pitstop": first,
                  "a cell after it": measured("x = 1", {_CELLS})}}))
"""


def main() -> None:
    """Prints the medians of wall and processor time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = [_round() for _ in range(parser.parse_args().rounds)]
    for name in rounds[0]:
        wall, processor = (
            1000 * statistics.median(each[name][kind] for each in rounds) for kind in (0, 1)
        )
        print(f"{name:<20} {wall:8.2f} ms, {processor:8.2f} ms of a processor")


def _round() -> dict[str, list[float]]:
    command = [sys.executable, "-c", _SHELL]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
