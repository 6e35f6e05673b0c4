"""Ends that were meant, or that nobody notices (1 to 12), and losses that are no numbers (52)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

from benchmarks.faults.scenario import Scenario, impossible, scenario
from pitstop.diagnosis.finding import CauseId

_STOPPED: CauseId = "early_stopping_or_callback_stop"

_KERAS_2 = scenario(
    "07-data-exhausted-keras-2", "dataset_exhausted", among="batches", says="80 batches"
)

QUIET_ENDS: tuple[Scenario, ...] = (
    scenario(
        "02-early-stopping-plateau",
        _STOPPED,
        args="--callbacks plateau --epochs 8 --decoys memory",
        among="stop_training",
        says=r"EarlyStopping(?!.*exploded)",
    ),
    scenario(
        "03-early-stopping-blow-up",
        _STOPPED,
        args="--model digits --callbacks blow_up --epochs 8",
        among="stop_training",
        says="EarlyStopping.*exploded",
    ),
    scenario(
        "04-callback-stops",
        _STOPPED,
        args="--model text --input pipeline --callbacks budget --decoys early killed",
        among="stop_training",
        says=r"TimeBudget.*ends\.py:\d+",
    ),
    scenario(
        "05-terminate-on-nan",
        "nan_loss",
        args="--callbacks terminate",
        among="nan",
        says="TerminateOnNaN",
    ),
    scenario(
        "06-terminate-on-nan-raises",
        "nan_loss",
        args="--callbacks terminate_by_error --decoys memory",
        among="nan",
        says="raised an error",
    ),
    replace(_KERAS_2, script="legacy.py")
    if importlib.util.find_spec("tf_keras")
    else impossible(_KERAS_2.name, "tf_keras is not installed"),
    scenario(
        "08-data-exhausted-keras-3",
        "dataset_exhausted",
        args="--model digits --input pipeline --steps 20",
        data="exhausted",
        among="batches",
        says="15 of 20",
    ),
    scenario(
        "10-empty-dataset",
        "dataset_exhausted",
        "data_error",
        args="--input pipeline",
        data="empty",
        among="batches",
    ),
    scenario(
        "11a-sys-exit-0",
        "user_code_error",
        fault="exit0@batch:27",
        among="exit 0",
        says="exit code 0.*sys.exit",
    ),
    scenario(
        "11b-os-exit-0",
        "user_code_error",
        args="--model text --input pipeline",
        fault="os_exit0@batch:27",
        among="exit 0",
        says="exit code 0.*os._exit",
    ),
    scenario(
        "12a-exit-3-in-training",
        "user_code_error",
        args="--decoys memory disk",
        fault="exit3@batch:27",
        says="exit code 3",
    ),
    scenario(
        "12b-exit-3-after-training",
        "user_code_error",
        args="--model digits",
        fault="exit3@end",
        says="exit code 3",
    ),
    scenario(
        "52a-nan-from-one-sample",
        "nan_loss",
        data="nan",
        among="nan",
        says=r"step [78]\b",
    ),
    scenario(
        "52b-nan-from-the-rate",
        "nan_loss",
        args="--callbacks rate --decoys nan",
        among="nan",
        says="step 2[1-9]",
    ),
)
