"""The command lines of a drill's runs.  Pure."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.link.settings import ENV_ENTROPY

ENV_DRILL = "PITSTOP_DRILL"
"""Set to 1 for the scripts of a drill, so that they can leave out side effects."""


def run_options(every_steps: int, halt_at_step: int, die_at_step: int) -> list[str]:
    """Of `pitstop run`; 0 leaves an option out."""
    options = {
        "--every": f"{every_steps}steps" if every_steps else "",
        "--halt-at-step": str(halt_at_step or ""),
        "--die-at-step": str(die_at_step or ""),
    }
    return [word for name, value in options.items() if value for word in (name, value)]


def environment_of_runs(
    environment: Mapping[str, str], module_dir: Path | None, entropy: str
) -> dict[str, str]:
    """The environment of the runs; `python -m` finds the script's modules in `module_dir`."""
    changed = {**environment, ENV_DRILL: "1", ENV_ENTROPY: entropy}
    if module_dir is not None:
        path = [str(module_dir), environment.get("PYTHONPATH", "")]
        changed["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return changed


def with_absolute_script(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    index = _script_index(command, folder)
    script = folder / command[index] if _names_file(command, index, folder) else command[index]
    return (*command[:index], str(script), *command[index + 1 :])


def files_to_copy(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Files that the command names relative to this folder, but for the script."""
    words = command[_script_index(command, folder) + 1 :]
    below = (
        each for each in words if not Path(each).is_absolute() and ".." not in Path(each).parts
    )
    return tuple(word for word in below if _is_file(folder / word))


def _script_index(command: Sequence[str], folder: Path) -> int:
    for index, word in enumerate(command):
        if word == "-m" and index + 1 < len(command):
            return index + 1
        if _names_file(command, index, folder):
            return index
    return 0


def _names_file(command: Sequence[str], index: int, folder: Path) -> bool:
    # A bare first word is looked for on the PATH, not here.
    word = command[index]
    return (index > 0 or os.sep in word) and _is_file(folder / word)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # A word that is no path, and too long for one.
        return False
