"""What `pitstop plan` says of the example scripts, and what they take.

For each script: the peak of the host's memory as plan says it, and that of the script run by
itself to its end (`ru_maxrss`). With --limit, as root, in a memory cgroup of so many MiB: a batch
that does not fit; then whether a training ends with the batch that plan calls the largest, and with
one a third and one two thirds larger. Prints Markdown tables.

    python benchmarks/plan.py [--limit 1500]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pitstop.machine import cgroup

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TRAINING = Path(__file__).resolve().with_name("planned_training.py")
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
SCRIPTS = (
    (EXAMPLES / "digits_cnn.py", "--epochs", "4"),
    (EXAMPLES / "digits_tfdata.py", "--epochs", "4"),
    (EXAMPLES / "recover_memory.py",),
    (EXAMPLES / "recover_nan.py",),
    (TRAINING, "64"),
)
_LIMIT_FILES = {1: "memory.limit_in_bytes", 2: "memory.max"}
_MIB = 1 << 20


def plan(words: Sequence[str], group: Path | None = None) -> tuple[dict[str, Any], float]:
    """What it says, and the seconds that it took."""
    started = time.monotonic()
    command = _within(group, [*PITSTOP, "plan", "--json", "--", sys.executable, *words])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout), time.monotonic() - started


def run(words: Sequence[str], group: Path | None = None) -> tuple[int, int]:
    """Runs a script by itself; its exit code, and its peak in bytes."""
    command = _within(group, [sys.executable, *words])
    with tempfile.TemporaryDirectory() as folder:
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss << 10


def _within(group: Path | None, command: list[str]) -> list[str]:
    if group is None:
        return command
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "limited", *command]


@contextmanager
def limited(size_bytes: int) -> Iterator[Path]:
    """A memory cgroup below that of this process."""
    own = cgroup.find(os.getpid())
    if own is None:
        raise SystemExit("no memory cgroup is visible here")
    group = own.folder / f"plan-{os.getpid()}"
    group.mkdir()
    try:
        (group / _LIMIT_FILES[own.version]).write_text(str(size_bytes))
        yield group
    finally:
        group.rmdir()


def examples() -> None:
    print("| script | plan | measured | difference | plan took |\n|---|---|---|---|---|")
    for script, *rest in SCRIPTS:
        words = [str(script), *rest]
        told, seconds = plan(words)
        code, peak = run(words)
        assert code == 0, words
        said = max(told["before_bytes"], told["needs"][0]["peak_bytes"])
        row = f"{said / 1e6:,.0f} MB | {peak / 1e6:,.0f} MB | {said / peak - 1:+.1%}"
        print(f"| {' '.join([script.name, *rest])} | {row} | {seconds:.1f} s |", flush=True)


def in_a_limit(limit_mib: int) -> None:
    words = [str(EXAMPLES / "recover_memory.py")]
    with limited(limit_mib * _MIB) as group:
        told, seconds = plan(words, group)
        host, (_, peak) = told["needs"][0], run(words)
        print(f"\nIn {limit_mib:,} MiB: recover_memory.py, {seconds:.1f} s: fits: {told['fits']};")
        print(f"{(host['peak_bytes'] or 0) / 1e6:,.0f} MB reckoned, {peak / 1e6:,.0f} MB measured")
        told, _ = plan([str(TRAINING), "32"], group)
        largest = told["needs"][0]["largest_batch"]
        print(f"\nLargest batch: {largest:,}\n\n| batch | ends with |\n|---|---|")
        for batch in (largest, largest * 4 // 3, largest * 5 // 3):
            code, _ = run([str(TRAINING), str(batch)], group)
            word = signal.Signals(-code).name if code < 0 else str(code)
            print(f"| {batch:,} | {word} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, metavar="MIB")
    options = parser.parse_args()
    if options.limit:
        in_a_limit(options.limit)
    else:
        examples()


if __name__ == "__main__":
    main()
