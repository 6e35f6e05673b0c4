"""A run of `exported.py`, what is exported of it, and a program without Pitstop that loads that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitstop.snapshot.loading import load
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import open_existing
from tests.integration.keras_run import REAL, SCRIPTS, KerasRun
from tests.integration.supervisor import launch

Arrays = Mapping[str, NDArray[Any]]

FILES = {
    "keras": "model.keras",
    "weights_h5": "model.weights.h5",
    "saved_model": "saved",
    "tf_checkpoint": "checkpoints",
    "v1_saver": "v1",
    "safetensors": "model.safetensors",
}


@dataclass(frozen=True)
class ExportedRun:
    """A run of a model, and the folder that its exports go to."""

    run: KerasRun
    model: str
    exports: Path

    @classmethod
    def of(
        cls, folder: Path, model: str, *options: str, interpreter: tuple[str, ...] = REAL
    ) -> ExportedRun:
        """Trains a model, with options for `pitstop run`."""
        exports = folder / "exports"
        exports.mkdir(parents=True)
        work = folder / "work"
        work.mkdir()
        run = KerasRun(work, "exported.py", (model,), interpreter=interpreter)
        ended = run.attempt(*options)
        assert ended.returncode in (0, 75), ended.stderr.decode()
        return cls(run, model, exports)

    def export(self, form: str, *options: str) -> Path:
        """Exports the run in a format; the place."""
        out = self.exports / FILES[form]
        ended = self.run.pitstop("export", str(out), "--to", form, *options)
        assert ended.returncode == 0, ended.stderr.decode()
        return out

    def load(self, *forms: str) -> dict[str, Arrays]:
        """What a process without Pitstop finds in exports."""
        wanted = [f"{form}={FILES[form]}" for form in forms]
        words = [SCRIPTS / "loads_export.py", self.model, self.exports, *wanted]
        environment = launch.environment(TF_CPP_MIN_LOG_LEVEL="3")
        environment.pop("PYTHONPATH")
        command = [sys.executable, *map(str, words)]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=100)
        return {form: arrays_in(self.exports / f"{form}.npz") for form in forms}

    def content(self) -> dict[str, tuple[int, bytes]]:
        """Every file of the run and of its working directory, with the time of its last change."""
        files = (path for path in self.run.folder.rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    def saved(self) -> Arrays:
        """The variables in the newest checkpoint, by path."""
        entry = Catalog(open_existing(self.run.folder / "run").checkpoints).entries()[0]
        assert entry.manifest is not None
        return variables_of(load(entry.path, entry.manifest).fds)


def arrays_in(path: Path) -> Arrays:
    """The arrays of an npz file."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def variables_of(fds: tuple[int, ...]) -> Arrays:
    """The variables of a saved state, by path."""
    from pitstop.engine.snapshots.saved_state import open_saved_state

    saved = open_saved_state(fds)
    return {
        each["path"]: np.frombuffer(saved.tensors[each["tensor"]], each["dtype"]).reshape(
            each["shape"]
        )
        for each in saved.state["variables"]
    }


def differing(found: Arrays, expected: Arrays) -> list[str]:
    """Names of arrays that are not the same bits, or not expected; `predictions` apart."""
    assert found
    return [
        name
        for name, value in found.items()
        if name != "predictions"
        and (name not in expected or value.tobytes() != expected[name].tobytes())
    ]


def metadata_of(path: Path) -> dict[str, str]:
    """What the header of a safetensors file says of itself."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    found: dict[str, str] = json.loads(data[8 : 8 + length])["__metadata__"]
    return found
