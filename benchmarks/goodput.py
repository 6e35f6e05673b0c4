"""How much of the time of a training that is interrupted again and again is of use.

One training (`goodput_training.py`), kept by several means, and struck at the moments of a Poisson
process, by four kinds in turn:

- kill: SIGKILL to the process that trains;
- lose: SIGKILL to all processes at once, as when the machine goes;
- term: SIGTERM, and SIGKILL 30 s later;
- stop: `pitstop stop`; without Pitstop Ctrl-C.

It is started again at once, by `pitstop run --restarts` or by this program. Goodput is the time of
the undisturbed training without any saving, divided by the time of this one; both begin with the
start of the first process. Prints Markdown tables. Each cell is kept in --results, so that the work
can be done in pieces.

    python benchmarks/goodput.py --results FILE [--means 20 60] [--epochs 14] [--ways NAME ...]
    python benchmarks/goodput.py --extrapolate
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import math
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from pitstop.supervisor.helpers.saving import interval_seconds

SCRIPT = Path(__file__).with_name("goodput_training.py")
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
GRACE_SECONDS = 30.0
KINDS = ("kill", "lose", "term", "stop")
_DAY = 86_400.0


@dataclass(frozen=True)
class Way:
    """A way to keep a training.

    Attributes:
        name: as the tables call it.
        keep: the means, in the words of the script.
        every_steps: between two saves; 0 for each epoch.
        pitstop: whether it runs under `pitstop run`.
    """

    name: str
    keep: str = "nothing"
    every_steps: int = 0
    pitstop: bool = False

    @property
    def reference(self) -> str:
        """The way without saving that computes the same."""
        return "loop" if self.keep == "loop" else "fit"

    def command(self, folder: Path, epochs: int) -> list[str]:
        """What is started, again and again."""
        keep = ["--keep", self.keep, "--every-steps", str(self.every_steps)]
        own = [sys.executable, str(SCRIPT), str(folder), *keep, "--epochs", str(epochs)]
        run = ["run", "--run-dir", str(folder / "run"), "--restarts", "100000"]
        return [*PITSTOP, *run, "--", *own] if self.pitstop else own


REFERENCES = (Way("fit"), Way("loop", "loop"))
WAYS = (
    Way("Pitstop", pitstop=True),
    Way("BackupAndRestore, every epoch", "backup"),
    Way("BackupAndRestore, every step", "backup", 1),
    Way("the guide's loop, every 10 steps", "loop", 10),
)


@dataclass(frozen=True)
class Cell:
    """One training to its end, or to where it was given up.

    Attributes:
        way: its name.
        mean: seconds between two strikes, infinite for none.
        seconds: from the first start to the last end.
        strikes: how many met it.
        steps: that were computed, some of them more than once.
        down: seconds from each strike to the end of the next process' first step.
        pace: seconds of a step, without the first of each process.
        end: what the training ended with; empty when it was given up.
    """

    way: str
    mean: float
    seconds: float
    strikes: int
    steps: int
    down: list[float]
    pace: float
    end: str


class Struck:
    """A training that is run to its end, whatever happens to it."""

    def __init__(self, way: Way, folder: Path, epochs: int) -> None:
        self._way = way
        self._folder = folder
        self._command = way.command(folder, epochs)
        self._log = (folder / "output.txt").open("ab")
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )

    def goes_on(self, until: float) -> bool:
        """Whether it is not complete by this time; starts it again meanwhile."""
        while (left := until - time.monotonic()) > 0:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(left)
                if (self._folder / "end.json").exists():
                    return False
                self._process = self._start()
        return True

    def strike(self, kind: str) -> None:
        """Interrupts it, and waits for its end where it ends."""
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(self._process.pid)
            family = [own, *own.children(recursive=True)]
            trainer = self._trainer(family)
            if kind == "kill" and trainer:
                trainer.kill()
            elif kind in ("kill", "lose"):
                for each in family:
                    with suppress(psutil.NoSuchProcess):
                        each.kill()
            elif kind == "stop" and self._way.pitstop:
                words = [*PITSTOP, "stop", str(self._folder / "run"), "--no-wait"]
                subprocess.run(words, capture_output=True, check=False)
            else:
                own.send_signal(signal.SIGTERM if kind == "term" else signal.SIGINT)
        if kind in ("term", "stop"):
            try:
                self._process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self.strike("lose")

    def _trainer(self, family: Iterable[psutil.Process]) -> psutil.Process | None:
        """The process that trains; None while it is not there yet."""
        for each in family:
            with suppress(psutil.NoSuchProcess):
                words = each.cmdline()
                if str(SCRIPT) in words and "--run-dir" not in words:
                    return each
        return None

    def close(self) -> None:
        """Ends what is left."""
        self.strike("lose")
        self._process.wait()
        self._log.close()


def measure(way: Way, mean: float, epochs: int, seed: int, most_seconds: float) -> Cell:
    """Trains once; gives up after so many seconds."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="goodput-"))
    began, began_at = time.time(), time.monotonic()
    struck, strikes = Struck(way, folder, epochs), []
    next_at = began_at
    try:
        for kind in itertools.cycle(KINDS):
            next_at += chance.expovariate(1 / mean) if mean < math.inf else most_seconds
            if not struck.goes_on(min(next_at, began_at + most_seconds)):
                break
            if time.monotonic() >= began_at + most_seconds:
                break
            strikes.append(time.time())
            struck.strike(kind)
        seconds = time.time() - began
    finally:
        struck.close()
    end = folder / "end.json"
    lines = (folder / "steps.txt").read_text().splitlines()
    text = end.read_text() if end.exists() else ""
    shutil.rmtree(folder)
    return _cell(
        Cell(way.name, mean, seconds, len(strikes), len(lines), [], 0.0, text), strikes, lines
    )


def _cell(cell: Cell, strikes: Sequence[float], lines: Sequence[str]) -> Cell:
    """The cell, with what the lines of the steps tell."""
    times = [float(line.split()[0]) for line in lines]
    processes = [line.split()[2] for line in lines]
    firsts = [i for i in range(len(times)) if i == 0 or processes[i] != processes[i - 1]]
    paces = [times[i] - times[i - 1] for i in range(1, len(times)) if i not in firsts]
    # A strike before the first step of a process, or during a start, has its part in the next one.
    nexts = [bisect.bisect([times[i] for i in firsts], strike) for strike in strikes]
    down = [
        times[firsts[each]] - at
        for each, at in zip(nexts, strikes, strict=True)
        if each < len(firsts)
    ]
    return replace(cell, down=down, pace=statistics.fmean(paces))


def expected_seconds(
    work: float, mean: float, restart: float, interval: float, cost: float
) -> float:
    """The time that an interrupted training takes: M e^(R/M) (e^((t+C)/M) - 1) W/t.

    W is the work, M the mean time between two interruptions (exponential), R the time from one to
    the next step, t the work between two saves, C what a save costs the training. J. T. Daly, "A
    higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
    Computer Systems 22 (2006) 303-312, equation 13.
    """
    if (interval + cost + restart) / mean > 500:
        return math.inf
    segment = mean * math.exp(restart / mean) * math.expm1((interval + cost) / mean)
    return segment * work / interval


def predicted(way: Way, cell: Cell, reference: Cell, epochs: int) -> float:
    """The goodput of a cell by the model, with what it cost to start and to save.

    Pitstop saves by cost, and at most interruptions: what was computed again tells its interval.
    """
    lost = max(0, cell.steps - reference.steps) / max(1, cell.strikes)
    steps = max(1.0, 2 * lost) if way.pitstop else way.every_steps or reference.steps / epochs
    work = reference.steps * reference.pace
    seconds = expected_seconds(
        work,
        cell.mean,
        statistics.fmean(cell.down),
        steps * reference.pace,
        steps * max(0.0, cell.pace - reference.pace),
    )
    return reference.seconds / (reference.seconds - work + seconds)


def _row(way: Way, cell: Cell, reference: Cell, epochs: int) -> str:
    goodput = f"**{reference.seconds / cell.seconds:.1%}**"
    columns = (
        f"{cell.mean:.0f} s",
        cell.way,
        str(cell.strikes),
        goodput if cell.end else f"not complete in {cell.seconds:.0f} s",
        f"{predicted(way, cell, reference, epochs):.1%}",
        f"{statistics.median(cell.down):.1f}",
        f"{(cell.steps - reference.steps) / max(1, cell.strikes):.1f}" if cell.end else "",
        f"{1000 * (cell.pace - reference.pace):+.1f}",
        _end(json.loads(cell.end), json.loads(reference.end)) if cell.end else "",
    )
    return f"| {' | '.join(columns)} |"


def _end(ended: dict[str, object], expected: dict[str, object]) -> str:
    if ended == expected:
        return "identical"
    if ended["updates"] != expected["updates"]:
        return f"{ended['updates']} updates of {expected['updates']}"
    same = ended["weights"] == expected["weights"]
    return "same weights, other History" if same else "other weights"


def table(cells: dict[tuple[str, float], Cell], epochs: int) -> Iterable[str]:
    """The lines of what was measured."""
    yield (
        "| mean | | strikes | goodput | by the model | s to the next step | steps again "
        "| ms more per step | end |"
    )
    yield "|---" * 9 + "|"
    for mean in sorted({mean for _, mean in cells if mean < math.inf}):
        for way in WAYS:
            if (way.name, mean) in cells:
                reference = cells[way.reference, math.inf]
                yield _row(way, cells[way.name, mean], reference, epochs)


@dataclass(frozen=True)
class Large:
    """A training on a cluster; every host that goes interrupts all.

    Attributes:
        name: the way it is kept.
        interval: seconds of work between two saves, from the mean time between two interruptions.
        cost: seconds that a save keeps the training.
    """

    name: str
    interval: Callable[[float], float]
    cost: float


def extrapolated(options: argparse.Namespace) -> Iterable[str]:
    """The lines of the table by hosts."""
    step, restart, save = options.step, options.restart, options.save
    larges = (
        Large("Pitstop", lambda mean: interval_seconds(save, mean), options.beside),
        Large("BackupAndRestore, every epoch", lambda _: options.epoch, save),
        Large("BackupAndRestore, every step", lambda _: step, save),
        Large("the guide's loop, every 10 steps", lambda _: 10 * step, save),
    )
    yield "| hosts | " + " | ".join(str(each) for each in options.hosts) + " |"
    yield "|---" * (1 + len(options.hosts)) + "|"
    means = [options.host_days * _DAY / hosts for hosts in options.hosts]
    yield "| an interruption each | " + " | ".join(f"{mean / 3600:.3g} h" for mean in means) + " |"
    work = options.days * _DAY
    for large in larges:
        times = [
            expected_seconds(work, mean, restart, large.interval(mean), large.cost)
            for mean in means
        ]
        shares = [f"{work / each:.1%} ({each / _DAY:.3g} d)" for each in times]
        yield f"| {large.name} | " + " | ".join(shares) + " |"


def main() -> None:
    """Measures what is not measured yet, and prints; or extrapolates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=Path, default=Path("goodput.jsonl"))
    parser.add_argument("--means", type=float, nargs="*", default=[20.0, 60.0], help="seconds")
    parser.add_argument("--ways", nargs="*", default=[each.name for each in WAYS])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=550.0, help="then give up")
    parser.add_argument("--extrapolate", action="store_true", help="print the table by hosts")
    parser.add_argument("--hosts", type=int, nargs="*", default=[1, 8, 64, 512, 4096])
    parser.add_argument("--host-days", type=float, default=30.0, help="between two losses of one")
    parser.add_argument("--days", type=float, default=7.0, help="of work")
    parser.add_argument("--step", type=float, default=0.5, help="seconds")
    parser.add_argument("--epoch", type=float, default=3600.0, help="seconds")
    parser.add_argument("--save", type=float, default=1.0, help="seconds of a save")
    parser.add_argument("--beside", type=float, default=0.2, help="of it, that Pitstop's costs")
    parser.add_argument("--restart", type=float, default=120.0, help="seconds to the next step")
    options = parser.parse_args()
    if options.extrapolate:
        print("\n".join(extrapolated(options)))
        return
    cells: dict[tuple[str, float], Cell] = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            known = Cell(**json.loads(line))
            cells[known.way, known.mean] = known
    asked = [(way, math.inf) for way in REFERENCES]
    asked += [(way, mean) for mean in options.means for way in WAYS if way.name in options.ways]
    for way, mean in asked:
        if (way.name, mean) not in cells:
            cell = measure(way, mean, options.epochs, options.seed, options.most_seconds)
            with options.results.open("a") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
            cells[way.name, mean] = cell
    print("\n".join(table(cells, options.epochs)))


if __name__ == "__main__":
    main()
