"""Which modules of large libraries a training has imported: a spare process imports them ahead."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

IMPORTS_FILE = "imports.json"
"""Its name in the folder of an attempt: names and files of the modules, in order of import."""

LIBRARIES = frozenset(
    {"tensorflow", "keras", "tf_keras", "numpy", "scipy", "pandas", "sklearn", "matplotlib"}
    | {"h5py", "PIL", "tensorflow_datasets", "tensorflow_hub", "tensorflow_probability"}
)
"""Importing these does nothing that a script would notice, but for the time it takes."""

_SET_BY_THEM = frozenset(
    {"ENABLE_RUNTIME_UPTIME_TELEMETRY", "TF2_BEHAVIOR", "TPU_ML_PLATFORM"}
    | {"WANDB_RESUME", "WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL", "TPU_ML_PLATFORM_VERSION"}
    | {"HDF5_PLUGIN_PATH", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
)
"""Variables of the environment that the libraries, or we for them, set as they are imported."""


class LibraryImports:
    """Whether variables and CPUs, which libraries read at their import, are as at the start."""

    def __init__(self) -> None:
        self._began = _conditions()
        self.unprepared = True

    def begin(self) -> None:
        self._began = _conditions()

    def look(self) -> None:
        self.unprepared = self.unprepared and _conditions() == self._began

    def write(self, folder: Path) -> None:
        if self.unprepared:
            draft = folder / f"{IMPORTS_FILE}.part"
            draft.write_text(json.dumps(list(_modules())))
            draft.rename(folder / IMPORTS_FILE)


def _conditions() -> tuple[dict[str, str], set[int]]:
    variables = {name: value for name, value in os.environ.items() if name not in _SET_BY_THEM}
    return variables, os.sched_getaffinity(0)


def _modules() -> Iterator[tuple[str, str]]:
    for name, module in list(sys.modules.items()):
        file = getattr(getattr(module, "__spec__", None), "origin", None)
        if file and name.partition(".")[0] in LIBRARIES:
            yield name, file


IMPORTS = LibraryImports()  # of this process
