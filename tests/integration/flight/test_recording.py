"""The flight recorder beside a real training."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import tensorflow as tf

from pitstop.flight import series
from pitstop.flight.files import read_spaced
from pitstop.flight.tensorboard_writer import FOLDER
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from tests.flight.samples import ALL
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor import launch

_FAST = ("--flight", "0.2s")


def steps_of(folder: Path) -> Counter[tuple[str, int]]:
    """How often each step of each scalar is in the event files, by TensorFlow's own reader."""
    return Counter(
        (value.tag, event.step)
        for path in folder.glob("events.out.tfevents.*")
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    )


def test_what_was_seen_survives_sigkill_of_everything(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "leaks.py", ("--step-seconds", "0.05"), _FAST)
    process = run.start()
    run.until_training(1)
    folder = open_existing(tmp_path / "run")
    launch.until(lambda: status_of(folder).input_share is not None)
    status = run.status()
    os.kill(status["pid"], signal.SIGKILL)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    samples = read_spaced(tmp_path / "run/attempts/1", ALL)
    seen = [sample.trainer for sample in samples if sample.trainer]
    assert seen[-1].pid == status["pid"]
    assert max(each.rss_bytes for each in seen) > 100e6
    assert status["memory_bytes"] >= status["rss_bytes"] * 0.5
    assert {process.role for process in samples[-1].processes} >= {"supervisor", "persister"}
    told = [sample.training for sample in samples if sample.training]
    assert max(each.step for each in told) > 20
    assert told[-1].learning_rate is not None
    assert series.input_share(samples)
    assert 0.0 <= status["input_share"] < 0.5


def test_tensorboard_shows_each_step_once_after_a_resume(
    tmp_path: Path, forked: Interpreter
) -> None:
    logs = tmp_path / "logs"
    arguments = ("--board", str(logs), "--step-seconds", "0.02", "--epochs", "4")
    run = KerasRun(tmp_path, "leaks.py", arguments, _FAST, interpreter=forked)
    process = run.start()
    run.until_training(30)
    os.kill(run.status()["pid"], signal.SIGKILL)
    process.communicate()
    assert steps_of(logs / FOLDER)
    assert run.attempt().returncode == 0
    ours, theirs = steps_of(logs / FOLDER), steps_of(logs / "train")
    assert {tag for tag, _ in ours} >= {"pitstop/memory_mb", "pitstop/attempt"}
    assert max(step for _, step in ours) > 0
    assert {count for (tag, _), count in ours.items() if tag != "pitstop/why"} == {1}
    assert {count for (tag, _), count in theirs.items() if "loss" in tag} == {1}
