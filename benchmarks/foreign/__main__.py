"""Is a script of somebody else's the same after an interruption?

Each script and notebook of a folder runs undisturbed, under `pitstop run` to a step, where it is
killed, and again.  The scripts stay as they are.
Their random streams begin with a fixed seed, their data sets are small ones in the files in which
the loaders keep theirs, and what they end with is read from their global variables.

    python -m benchmarks.foreign FOLDER [--step 5] [--samples 256] [--packages FOLDER] [--only ...]
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.foreign.drilled import Bench, Drilled
from benchmarks.foreign.notebook import script_of
from benchmarks.foreign.small_data import write_data_sets
from tests.integration.interpreters import forking
from tests.integration.programs.runner import COMMAND

KINDS = {".py", ".ipynb"}


def main() -> None:
    """Prints a line for each script, and the table."""
    options = _options()
    scripts = [path for path in sorted(options.folder.rglob("*")) if path.suffix in KINDS]
    chosen = [path for path in scripts if not options.only or path.stem in options.only]
    base = Path(tempfile.mkdtemp(prefix="foreign-"))
    write_data_sets(base / "home", options.samples)
    keras_home = str(base / "home" / ".keras")
    with (
        forking("tensorflow", "keras", KERAS_HOME=keras_home) as python,
        forking("pitstop.cli.main") as tools,
    ):
        pitstop = (tools, str(COMMAND))
        bench = Bench(base, (python,), pitstop, options.packages, options.step)
        rows = [_drilled(bench, path, base / f"{path.stem}.py") for path in chosen]
    counts = Counter(row.outcome for row in rows)
    print("\n| script | outcome | level |\n|---|---|---|")
    print("\n".join(f"| {row.name} | {row.outcome} | {row.said} |" for row in rows))
    print("\n" + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with scripts and notebooks")
    parser.add_argument("--step", type=int, default=5, help="where they are killed")
    parser.add_argument("--samples", type=int, default=256, help="of each data set to train on")
    parser.add_argument("--packages", type=Path, help="a folder of what else they import")
    parser.add_argument("--only", nargs="*", default=[], help="names without their endings")
    return parser.parse_args()


def _drilled(bench: Bench, source: Path, script: Path) -> Drilled:
    script.write_text(script_of(source))
    row = bench.drill(script)
    print(f"{row.name}: {row.outcome}; {row.said}", flush=True)
    return row


if __name__ == "__main__":
    main()
