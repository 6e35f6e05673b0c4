"""Is a script of somebody else's the same after interruptions?

Each script, notebook and page of a folder runs undisturbed; and under `pitstop run`, where it is
killed at a step, stopped by SIGTERM after half of its time, killed after a third of it, and run
again each time.  The scripts stay as they are, but for the number of their epochs.
Their random streams begin with a fixed seed, their data sets are small ones in the files in which
the loaders keep theirs, and what they end with is read from their global variables.

    python -m benchmarks.foreign FOLDER [--step 5] [--samples 256] [--epochs 3] [--only ...]
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.foreign.drilled import SEARCH, Bench, Drilled
from benchmarks.foreign.notebook import KINDS, script_of
from benchmarks.foreign.small_data import write_data_sets
from benchmarks.foreign.small_downloads import write_downloads
from tests.integration.interpreters import forking
from tests.integration.programs.runner import COMMAND


def main() -> None:
    """Prints a line for each script, and the table."""
    options = _options()
    scripts = [path for path in sorted(options.folder.rglob("*")) if path.suffix in KINDS]
    chosen = [path for path in scripts if not options.only or path.stem in options.only]
    base = Path(tempfile.mkdtemp(prefix="foreign-"))
    data = base / "data"
    write_data_sets(data / "home", options.samples)
    write_downloads(data / "downloads", options.samples)
    (data / "here").symlink_to(data / "downloads")
    packages, variables = ["tensorflow", "keras"], {}
    if options.legacy:
        packages, variables = [*packages, "tf_keras"], {"TF_USE_LEGACY_KERAS": "1"}
    with (
        forking(*packages, PYTHONPATH=SEARCH) as python,
        forking("pitstop.cli.main") as tools,
    ):
        pitstop = (tools, str(COMMAND))
        bench = Bench(
            base,
            data,
            options.samples,
            (python,),
            pitstop,
            options.packages,
            options.step,
            variables,
        )
        rows = [_drilled(bench, path, options.epochs) for path in chosen]
    counts = Counter(row.outcome for row in rows)
    print("\n| script | interrupted | outcome | level |\n|---|---|---|---|")
    print(
        "\n".join(
            f"| {row.name} | {row.interruptions} | {row.outcome} | {row.said} |" for row in rows
        )
    )
    print("\n" + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with scripts, notebooks and pages")
    parser.add_argument("--step", type=int, default=5, help="where they are killed first")
    parser.add_argument("--samples", type=int, default=256, help="of each data set to train on")
    parser.add_argument("--epochs", type=int, default=3, help="the most of them, where it is said")
    parser.add_argument("--packages", type=Path, help="a folder of what else they import")
    parser.add_argument("--legacy", action="store_true", help="tf.keras is Keras 2")
    parser.add_argument("--only", nargs="*", default=[], help="names without their endings")
    return parser.parse_args()


def _drilled(bench: Bench, source: Path, epochs: int) -> Drilled:
    script = bench.base / f"{source.stem}.py"
    script.write_text(script_of(source, epochs))
    row = bench.drill(script)
    about = f"{row.interruptions} interruptions; {row.seconds} s"
    print(f"{row.name}: {row.outcome}; {about}; {row.said}", flush=True)
    return row


if __name__ == "__main__":
    main()
