"""The command lines of a drill's runs.  Pure."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ENV_DRILL = "PITSTOP_DRILL"
"""Set to 1 for the scripts of a drill, so that they can leave out side effects."""


def pitstop_run(
    command: Sequence[str],
    run_dir: Path,
    *,
    every_steps: int = 0,
    halt_at_step: int = 0,
    die_at_step: int = 0,
) -> list[str]:
    """`pitstop run` of this installation; 0 leaves an option out."""
    options = {
        "--every": f"{every_steps}steps" if every_steps else "",
        "--halt-at-step": str(halt_at_step or ""),
        "--die-at-step": str(die_at_step or ""),
    }
    words = [word for name, value in options.items() if value for word in (name, value)]
    program = [sys.executable, "-m", "pitstop.cli.main", "run", "--no-status-line"]
    return [*program, "--run-dir", str(run_dir), *words, "--", *command]


def environment_of_runs(environment: Mapping[str, str], module_dir: Path | None) -> dict[str, str]:
    """The environment of the runs.

    Args:
        environment: of this process.
        module_dir: where `python -m` finds the script's modules when the runs
            work elsewhere.
    """
    changed = {**environment, ENV_DRILL: "1"}
    if module_dir is not None:
        path = [str(module_dir), environment.get("PYTHONPATH", "")]
        changed["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return changed


def with_absolute_files(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The command for another working folder: words that name files here name them there."""
    return tuple(str(folder / word) if (folder / word).is_file() else word for word in command)
