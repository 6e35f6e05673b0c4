"""A training with the oldest Keras that is supported; `make compat` tests other versions too."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.integration.keras_run import OUT, SCRIPTS
from tests.integration.supervisor import launch

_KERAS = Path(sys.prefix) / "oldest-keras"  # see tools/venv.sh


@pytest.mark.fast
@pytest.mark.timeout(300)
def test_a_killed_training_is_exact_with_the_oldest_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = os.pathsep.join((str(_KERAS), launch.environment()["PYTHONPATH"]))
    monkeypatch.setattr(launch, "environment", lambda **_: {**os.environ, "PYTHONPATH": search})
    version = launch.run_alone(
        tmp_path, sys.executable, "-c", "import keras; print(keras.version())"
    )
    assert version.stdout.split() == [b"3.10.0"]
    command = (sys.executable, SCRIPTS / "train.py", OUT, "--callbacks", "--epochs", "2")
    options = ("--kills", "1", "--stops", "0", "--json")
    ended = launch.call(tmp_path, "drill", *options, "--", *command)
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["verdict"]) == (0, "exact"), found
