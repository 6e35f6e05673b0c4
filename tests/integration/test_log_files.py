"""What callbacks write to files is the same after interruptions, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.util import event_pb2

from tests.integration.chain import Chain, interrupt_everywhere
from tests.integration.conftest import Baseline, Interpreter

ARGUMENTS = ("--input", "numpy", "--validation", "--logs")

Scalar = tuple[str, int, float]


def scalars(folder: Path) -> list[Scalar]:
    """Tag, step and value of everything that TensorBoard would show, in order."""
    found: list[Scalar] = []
    for path in sorted(folder.glob("*.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = event_pb2.Event.FromString(record.numpy())
            found += [
                (value.tag, event.step, float(tf.make_ndarray(value.tensor)))
                for value in event.summary.value
                if value.metadata.plugin_data.plugin_name in ("", "scalars")
            ]
    return found


@pytest.mark.timeout(240)
def test_logs_hold_every_step_once(tmp_path: Path, baseline: Baseline, forked: Interpreter) -> None:
    # With snapshots far apart, so that steps are done again.
    chain = Chain(ARGUMENTS, "kill@batch:13 stop@batch:24 kill@test:9", ("--every", "9steps"))
    alone = baseline(ARGUMENTS).parent
    interrupt_everywhere(chain, tmp_path, alone / "out.npz", forked)
    for name in ("epochs.csv", "batches.jsonl", "rows.csv", "lines.txt"):
        assert (tmp_path / name).read_text() == (alone / name).read_text()
    for kind in ("train", "validation"):
        expected = scalars(alone / "events" / kind)
        assert len(expected) >= 3
        assert scalars(tmp_path / "events" / kind) == expected
    assert list((tmp_path / "events").rglob("*.interrupted.*"))
