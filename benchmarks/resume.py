"""What a resume costs before its first step, and what each snapshot costs to be ready for it.

Resume: each script is started, stopped after a few steps, and started again, in
turn.  Both starts pay for the interpreter, the imports and tracing; what the
second takes longer, from the start of the process to the end of its first new
step, is the resume: reading and verifying the checkpoint, finding the place in
the input, setting the state.

Capture: milliseconds for the state of the input and of the callbacks, at every
25th step.

Prints Markdown tables of medians.

    python benchmarks/resume.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pitstop import journal, steps
from pitstop.events import AttemptStarted

ROOT = Path(__file__).parents[1]
PITSTOP = (sys.executable, "-m", "pitstop.cli.main", "run", "--run-dir", "run")
STOPS = (5, 10)
"""After these steps; the second start is the resumed one."""


@dataclass(frozen=True)
class Script:
    """What is started.

    Attributes:
        name: as the tables call it.
        command: file and arguments.
    """

    name: str
    command: tuple[str, ...]


EXAMPLES = (
    Script("examples/digits_cnn.py", (str(ROOT / "examples/digits_cnn.py"),)),
    Script("examples/digits_tfdata.py", (str(ROOT / "examples/digits_tfdata.py"),)),
)
_SIZED = str(ROOT / "benchmarks/resumed_training.py")
SIZES = tuple(Script(f"{size} MB of state", (_SIZED, str(size))) for size in (8, 200))


def starts(script: Script, folder: Path) -> list[float]:
    """Seconds from each start of the process to the end of its first step."""
    for stop in STOPS:
        command = (*PITSTOP, "--halt-at-step", str(stop), "--", sys.executable, *script.command)
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
    run = folder / "run"
    entries = journal.read(run / "journal.jsonl").entries
    began = {
        entry.event.attempt: entry.time_seconds
        for entry in entries
        if isinstance(entry.event, AttemptStarted)
    }
    return [
        next(steps.read(run / "attempts" / str(attempt) / steps.FILE_NAME)).time_seconds - seconds
        for attempt, seconds in began.items()
    ]


def resume_row(script: Script, rounds: int) -> str:
    """The line of one script in the first table."""
    both = []
    for _ in range(1 + rounds):
        with tempfile.TemporaryDirectory() as folder:
            both.append(starts(script, Path(folder)))
    del both[0]  # it has read the libraries from disk
    more = [second - first for pair in both for first, second in pairwise(pair)]
    first, second = (statistics.median(times) for times in zip(*both, strict=True))
    spread = f"{min(more):.2f} to {max(more):.2f}"
    return (
        f"| {script.name} | {first:.2f} | {second:.2f} | **{statistics.median(more):.2f}** "
        f"| {spread} |"
    )


def capture_row(script: Script) -> str:
    """The line of one script in the second table."""
    command = [sys.executable, "-m", "benchmarks.captured_training", *script.command]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--epochs", "10", "--out", folder]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    milliseconds = json.loads(ran.stdout.splitlines()[-1])
    return (
        f"| {script.name} | **{statistics.median(milliseconds):.2f}** "
        f"| {max(milliseconds):.2f} | {len(milliseconds)} |"
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="fresh and resumed starts of each")
    rounds = parser.parse_args().rounds
    print("| | fresh start, s | resumed, s | resume costs, s | from, to |")
    print("|---|---|---|---|---|")
    for script in (*EXAMPLES, *SIZES):
        print(resume_row(script, rounds), flush=True)
    print("\n| | capture, ms | longest | snapshots |")
    print("|---|---|---|---|")
    for script in EXAMPLES:
        print(capture_row(script), flush=True)


if __name__ == "__main__":
    main()
