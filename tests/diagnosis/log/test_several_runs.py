"""Files with the output of several runs, and results that a script tells at its end."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

LOADED = "2019-07-02 {}: I tensorflow/core/platform/cpu_feature_guard.cc:141] Your CPU supports\n"
FAILED = (
    'Traceback (most recent call last):\n  File "run.py", line 8, in main\n    go()\n'
    "AssertionError: no files found: 'a.zip'\n"
)
FIRST_RUN = LOADED.format("11:40:12.9") + FAILED
LATER_RUN = LOADED.format("12:08:24.5") + "LOG: copied a.zip\n"
KILLED = "/var/spool/sge/job_scripts/9505: line 8: 29913 Killed                  python3 run.py\n"
EPOCHS = "".join(f"Epoch {n}: train_loss=0.08 val_acc=0.9\nVal: acc=0.9\n" for n in range(8))
FULL = "CUDA out of memory. Tried to allocate 1.17 GiB (GPU 0; 11.17 GiB total capacity)\n"
RESULT = "Evaluating on test split\nTest metrics: acc=1.0000 cm=[[4, 0], [0, 2]]\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (FIRST_RUN, "data_error"),
        (FIRST_RUN + LATER_RUN + KILLED, "killed_from_outside"),
        (FIRST_RUN + LATER_RUN, "unknown"),
        # another task of the same run
        (FIRST_RUN + LOADED.format("11:40:13.1"), "data_error"),
        (FIRST_RUN + LOADED.replace("07-02", "02-31").format("12:08:24.5"), "data_error"),
        (EPOCHS + RESULT, "completed_normally"),
        (EPOCHS + "INFO:root:the best F1 of this model: 0.78\n", "completed_normally"),
        (EPOCHS + "8 epochs completed in 0.944 hours.\nOptimizer stripped\n", "completed_normally"),
        # a smaller batch was tried after it
        (FULL + "".join(f"epoch=0 i={n}/530 total_loss=1.5\n" for n in range(9)), "unknown"),
        (FULL, "gpu_oom"),
        # what every epoch tells
        (EPOCHS.replace("Val:", "Test:"), "unknown"),
        (EPOCHS + RESULT + FAILED, "data_error"),
    ],
)
def test_what_came_later_counts(text: str, cause: CauseId) -> None:
    assert next((each.cause for each in findings(Ending(parse(text)))), "unknown") == cause
