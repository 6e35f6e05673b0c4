"""A script that trains with Keras 2 can be stopped, and is told that it begins anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown, TrainerStopped
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor import launch

pytest.importorskip("tf_keras", reason="Keras 2 comes in a package of its own")


@pytest.mark.timeout(300)
def test_a_fit_of_keras_2_stops_and_says_that_it_is_not_exact(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "legacy_keras.py", environment={"TF_USE_LEGACY_KERAS": "1"})
    process = run.start()
    run.until_training(5)
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(process).returncode == 75
    known = run.last(LevelKnown)
    assert known.level == run.status()["level"] == "not_exact"
    assert "Keras 2 (tf_keras): train with Keras 3" in known.reason
    assert run.last(TrainerStopped).step >= 5
    assert run.saved_step(1) is None
    assert run.why()["cause"] == "stop_requested"
