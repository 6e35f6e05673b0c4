"""TensorFlow and Keras of the Python that is to train, and whether the hooks fit them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pitstop

_PATIENCE_SECONDS = 120.0
_PROGRAM = """
import json, platform, sys
found = {"python": platform.python_version(), "versions": {}, "problem": ""}
sys.path.append(sys.argv[1])
try:
    import tensorflow, keras
    found["versions"] = {"tensorflow": tensorflow.__version__, "keras": keras.__version__}
    found["gpus"] = len(tensorflow.config.list_physical_devices("GPU"))
    from pitstop.tensorflow import private
    private.check()
    from pitstop.keras import private
    private.check()
except Exception as problem:
    found["problem"] = f"{type(problem).__name__}: {problem}"
print("\\n" + json.dumps(found))
"""


@dataclass(frozen=True)
class Frameworks:
    """What a Python has.

    Attributes:
        python: its version; empty where it could not be started.
        versions: of `tensorflow` and `keras`, as far as they could be imported.
        problem: what does not fit, in the words of the exception; empty when all does.
    """

    executable: str
    python: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    gpus: int = 0
    problem: str = ""


def ask(executable: str) -> Frameworks:
    """Starts a Python that imports TensorFlow and Keras; takes some seconds."""
    folder = str(Path(pitstop.__file__).parents[1])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [executable, "-c", _PROGRAM, folder]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Frameworks(executable, problem=str(error))
    return answer(executable, done.stdout.decode(errors="replace"), done.returncode)


def answer(executable: str, output: str, exit_code: int) -> Frameworks:
    lines = output.strip().splitlines()
    try:
        return Frameworks(executable, **json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        return Frameworks(executable, problem=f"it ended with code {exit_code} at the imports")
