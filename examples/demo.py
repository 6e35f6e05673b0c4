"""The demo behind `make demo`: stop, kill and resume an ordinary script; compare bits.

The demo uses the `pitstop` command and signals only, like a user.  The script,
`digits_cnn.py`, contains nothing of Pitstop.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "digits_cnn.py"
FOLDER = HERE.parent / ".demo"
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
EPOCHS = "12"
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Interruption:
    """One way to interrupt the run: a title, the step from which, and the deed."""

    title: str
    from_step: int
    deed: Callable[[Path], None]


def stop(run_dir: Path) -> None:
    """`pitstop stop RUN`, from another terminal."""
    say(f"$ pitstop stop {run_dir.relative_to(Path.cwd())}")
    subprocess.run([*PITSTOP, "stop", str(run_dir)], check=True, stderr=subprocess.DEVNULL)


def kill(run_dir: Path) -> None:
    """SIGKILL to the training process: no handler, no `finally`, no farewell."""
    pid = read_status(run_dir)["pid"]
    say(f"$ kill -9 {pid}    # the training process")
    os.kill(pid, signal.SIGKILL)


def main() -> int:
    """Runs the demo; 0 when every resumed run was bit-identical."""
    os.chdir(HERE.parent)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    headline("1. Uninterrupted")
    expected = FOLDER / "uninterrupted"
    train(FOLDER / "run-uninterrupted", expected)
    same = [
        interrupt(Interruption("2. Stopped with `pitstop stop`, run again", 500, stop), expected),
        interrupt(Interruption("3. Killed with SIGKILL, run again", 800, kill), expected),
    ]
    headline("Result")
    say("every resumed run is bit-identical" if all(same) else "A RESUMED RUN DIFFERS")
    return 0 if all(same) else 1


def interrupt(how: Interruption, expected: Path) -> bool:
    """One interrupted and resumed run, compared with the uninterrupted one."""
    headline(how.title)
    name = how.deed.__name__
    run_dir, out = FOLDER / f"run-{name}", FOLDER / name
    started = time.monotonic()
    process = start(run_dir, out)
    wait_for_middle_of_epoch(run_dir, how.from_step)
    how.deed(run_dir)
    say(f"pitstop run exited with {process.wait()} after {time.monotonic() - started:.1f} s")
    before = read_status(run_dir)
    say(f"reached step {before['step']} (epoch {before['epoch'] + 1}, {place(before)})")
    say(f"durable checkpoint at step {before['checkpoint_step']}")
    print()
    subprocess.run([*PITSTOP, "why", str(run_dir)], check=True)
    print()
    train(run_dir, out)
    restored = last_event(run_dir, "restored")
    say(f"resumed at step {restored['step']} (epoch {restored['epoch'] + 1})", restored["level"])
    say(f"steps lost and computed again: {restored['lost_steps']}")
    return report_bits(expected, out)


def train(run_dir: Path, out: Path) -> None:
    """`pitstop run` to its end."""
    started = time.monotonic()
    code = start(run_dir, out).wait()
    say(f"pitstop run exited with {code} after {time.monotonic() - started:.1f} s")


def start(run_dir: Path, out: Path) -> subprocess.Popen[bytes]:
    """`pitstop run` in the background; the script's output goes to a file."""
    script = [sys.executable, str(SCRIPT), "--out", str(out), "--epochs", EPOCHS]
    shown = f"python examples/digits_cnn.py --epochs {EPOCHS}"
    say(f"$ pitstop run --run-dir {run_dir.relative_to(Path.cwd())} -- {shown}")
    with (FOLDER / f"{run_dir.name}.log").open("ab") as log:
        command = [*PITSTOP, "run", "--run-dir", str(run_dir), "--", *script]
        return subprocess.Popen(command, stdout=log, stderr=log)


def wait_for_middle_of_epoch(run_dir: Path, from_step: int) -> None:
    """Polls `pitstop status` until the run is inside an epoch, this far."""
    while True:
        status = read_status(run_dir)
        if (status.get("step") or 0) >= from_step and status.get("step_in_epoch"):
            return
        if status.get("state") in ("completed", "failed"):
            raise SystemExit(f"the run ended too early; see {FOLDER}")
        time.sleep(POLL_SECONDS)


def read_status(run_dir: Path) -> dict[str, Any]:
    """`pitstop status --json`; empty while there is no run yet."""
    command = [*PITSTOP, "status", str(run_dir), "--json"]
    asked = subprocess.run(command, capture_output=True, check=False)
    return json.loads(asked.stdout) if asked.returncode == 0 else {}


def last_event(run_dir: Path, kind: str) -> dict[str, Any]:
    """The newest event of a kind in the run's journal."""
    lines = (run_dir / "journal.jsonl").read_text().splitlines()
    events = (json.loads(line)["event"] for line in reversed(lines))
    return next(event for event in events if event["kind"] == kind)


def report_bits(expected: Path, actual: Path) -> bool:
    """Compares loss traces, histories and weights; says it; True when all are the same."""
    losses = [np.load(folder / "losses.npz")["losses"] for folder in (expected, actual)]
    weights = [read_weights(folder / "digits.weights.h5") for folder in (expected, actual)]
    history = [(folder / "history.json").read_text() for folder in (expected, actual)]
    checks = {
        f"loss of all {len(losses[0])} steps": losses[0].tobytes() == losses[1].tobytes(),
        "history and learning rates": history[0] == history[1],
        f"all {len(weights[0])} weights and optimizer slots": weights[0] == weights[1],
    }
    for what, same in checks.items():
        say(f"{what}: {'bit-identical' if same else 'DIFFERENT'}")
    return all(checks.values())


def read_weights(path: Path) -> dict[str, bytes]:
    """The bytes of every array in a weights file."""
    arrays: dict[str, bytes] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = np.asarray(item).tobytes()

    with h5py.File(path) as file:
        file.visititems(visit)
    return arrays


def place(status: dict[str, Any]) -> str:
    """Where in the epoch a run is."""
    return f"batch {status['step_in_epoch']} of {status['steps_per_epoch']}"


def headline(text: str) -> None:
    """A section of the demo."""
    print(f"\n=== {text} " + "=" * max(0, 74 - len(text)), flush=True)


def say(*words: str) -> None:
    """One line of the demo."""
    print("  ", *words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
