"""Data and code (42 to 47)."""

from __future__ import annotations

from benchmarks.faults.scenario import Scenario, scenario
from benchmarks.faults.strikes import removes

DATA: tuple[Scenario, ...] = (
    scenario("42a-missing-file", "data_error", args="--input pipeline", data="missing"),
    scenario(
        "42b-file-deleted-in-training",
        "data_error",
        args="--input records",
        fault="wait@epoch:1",
        strike=removes("train.tfrecord"),
    ),
    scenario(
        "43a-corrupt-record",
        "data_error",
        args="--model digits --input records",
        data="corrupt",
        says="corrupted record",
    ),
    scenario(
        "43b-truncated-record",
        "data_error",
        args="--model text --input records --decoys memory disk",
        data="cut",
        says="truncated record|corrupted record",
    ),
    scenario("44-shape-drift", "data_error", args="--input generator --steps 20", data="shape"),
    scenario(
        "45-label-out-of-range",
        "data_error",
        args="--model digits",
        data="label",
        among="code or data",
        says="77",
    ),
    scenario(
        "46a-generator-raises",
        "data_error",
        "user_code_error",
        args="--input generator --steps 20",
        data="raises",
        among="code or data",
        says="invalid literal.*inputs.py",
    ),
    scenario(
        "46b-dataset-class-raises",
        "user_code_error",
        "data_error",
        args="--input pool --epochs 1",
        data="worker_raises",
        among="code or data",
        says="row without pixels",
    ),
    scenario(
        "46c-callback-raises",
        "callback_error",
        args="--decoys memory",
        fault="key_error@batch:27",
        among="code or data",
        says="accuracy",
    ),
    scenario(
        "46d-script-raises-after-training",
        "user_code_error",
        args="--model text",
        fault="key_error@end",
        among="code or data",
        says="accuracy.*after training|after training.*accuracy",
    ),
    scenario(
        "46e-loop-raises",
        "user_code_error",
        args="--loop --input pipeline",
        fault="key_error@batch:27",
        says="accuracy",
    ),
    scenario("47a-missing-package", "dependency_or_import_error", fault="import@import"),
    scenario("47b-not-to-be-pickled", "user_code_error", fault="pickle@import", says="pickle"),
)
