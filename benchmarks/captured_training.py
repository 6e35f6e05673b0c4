"""Runs a script and prints what capturing its input and its objects took at each snapshot.

Started by `resume.py`; prints a JSON list of milliseconds, one number per snapshot.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.boundary import drain, open_session
from pitstop.keras import hooks
from pitstop.keras.inputs.fit_objects import FitObjects
from pitstop.keras.inputs.training_input import TrainingInput
from pitstop.keras.instrumentation import Instrumentation
from pitstop.keras.training import Training
from pitstop.link.beacon import Beacon
from pitstop.link.settings import Settings
from pitstop.link.wire import pair
from pitstop.tensorflow.variables.variables import REGISTRY

OFTEN = Settings(every_steps=25)


def timed(function: Callable[..., Any], milliseconds: list[float]) -> Callable[..., Any]:
    """The function, with what each of its calls took."""

    def call(*args: Any, **options: Any) -> Any:
        started = time.perf_counter()
        result = function(*args, **options)
        milliseconds.append((time.perf_counter() - started) * 1e3)
        return result

    return call


def main() -> None:
    """Runs the script that the arguments name, and prints."""
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    of_input: list[float] = []
    of_objects: list[float] = []
    TrainingInput.capture = timed(TrainingInput.capture, of_input)  # type: ignore[method-assign]
    FitObjects.capture = timed(FitObjects.capture, of_objects)  # type: ignore[method-assign]
    REGISTRY.install()
    ours, theirs = pair()
    beacon = Beacon.create()
    threading.Thread(target=drain, args=(theirs, beacon), daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "attempts" / "1").mkdir(parents=True)
        instrumentation = Instrumentation("")
        instrumentation.training = Training(open_session(ours, beacon, folder, OFTEN), {})
        hooks.patch(instrumentation)
        runpy.run_path(sys.argv[0], run_name="__main__")
    print(json.dumps([sum(pair) for pair in zip(of_input, of_objects, strict=True)]))


if __name__ == "__main__":
    main()
