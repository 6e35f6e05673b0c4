"""From the end of a chief to the last process gone, with a worker and a parameter server.

An unmodified script under `pitstop launch`; without Pitstop both servers stay for ever.  The chief
completes, is stopped (`pitstop stop`), or is killed with its supervisor.  Each cell is the
median of the rounds, in seconds from that moment.  TensorFlow's servers listen to everybody:

    unshare -n sh -c 'ip link set lo up && python benchmarks/cluster.py [--rounds N]'
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from pitstop import journal
from pitstop.events import AttemptEnded, MemberReleased, StopRequested, TrainerExited
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of

ROOT = Path(__file__).parents[1]
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
SCRIPT = ROOT / "benchmarks" / "cluster_training.py"
ENDINGS = ("completed", "stopped", "killed")
STEPS = {"completed": "150", "stopped": "-1", "killed": "-1"}
PATIENCE_SECONDS = 120.0


def measure(ending: str, folder: Path) -> dict[str, float]:
    """Seconds from the chief's end to the release of the servers, and to the end of all."""
    words = [*PITSTOP, "launch", "--workers", "1", "--ps", "1", "--run-dir", str(folder), "--"]
    process = subprocess.Popen(
        [*words, sys.executable, str(SCRIPT), STEPS[ending]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    chief = folder / "members" / "chief-0"
    until_training(process)
    # A server calls its leader every two seconds at most until it is there.
    while ending != "completed" and len(status_of(open_existing(chief)).members) < 3:
        time.sleep(0.1)
    began = time.time()
    if ending == "stopped":
        subprocess.run([*PITSTOP, "stop", str(chief)], stdout=subprocess.DEVNULL, check=True)
    elif ending == "killed":
        kill(status_of(open_existing(chief)).supervisor_pid or 0)
    process.communicate(timeout=PATIENCE_SECONDS)
    gone = time.time()
    if ending == "completed":
        began = times_of(chief, TrainerExited)[0]
    servers = [folder / "members" / name for name in ("worker-0", "ps-0")]
    released = [times_of(server, MemberReleased, StopRequested)[0] - began for server in servers]
    ended = [times_of(server, AttemptEnded)[0] - began for server in servers]
    return {
        "worker released": released[0],
        "worker gone": ended[0],
        "ps released": released[1],
        "ps gone": ended[1],
        "last process gone": gone - began,
    }


def until_training(process: subprocess.Popen[str]) -> None:
    """Waits for the tenth step of the chief."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.rstrip().endswith("| step 10"):
            return
    raise SystemExit(f"the training ended with code {process.wait()} before its tenth step")


def kill(supervisor_pid: int) -> None:
    """As when its machine is gone: the supervisor and all that it has started."""
    supervisor = psutil.Process(supervisor_pid)
    for each in (supervisor, *supervisor.children(recursive=True)):
        each.send_signal(signal.SIGKILL)


def times_of(folder: Path, *kinds: type) -> list[float]:
    """When such events were journaled, in seconds since the epoch."""
    entries = journal.read(open_existing(folder).journal).entries
    return [entry.time_seconds for entry in entries if isinstance(entry.event, kinds)]


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    found: dict[str, list[dict[str, float]]] = {ending: [] for ending in ENDINGS}
    for _ in range(rounds):
        for ending in ENDINGS:
            with tempfile.TemporaryDirectory() as folder:
                found[ending].append(measure(ending, Path(folder) / "run"))
    columns = list(found[ENDINGS[0]][0])
    print(f"| the chief | {' | '.join(columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    for ending, cells in found.items():
        medians = [statistics.median(cell[column] for cell in cells) for column in columns]
        print(f"| {ending} | {' | '.join(f'{median:.2f}' for median in medians)} |")


if __name__ == "__main__":
    main()
