"""Trainings in which nothing went wrong, though it may look like it (1, 9, and more)."""

from __future__ import annotations

from benchmarks.faults.ground import Preparation, around, memory_limit, slurm_job, stubs, words
from benchmarks.faults.scenario import Scenario, scenario, watched
from benchmarks.faults.strikes import Strike, neighbour_dies, pauses, stranger_dies

_ALL_DECOYS = "--decoys memory disk killed helper benign nan early"


def _healthy(
    name: str, args: str = "", fault: str = "", data: str = "", strike: Strike | None = None
) -> Scenario:
    return scenario(name, "completed_normally", args=args, fault=fault, data=data, strike=strike)


def _survived(name: str, fault: str, args: str = "", *grounds: Preparation) -> Scenario:
    return scenario(
        name,
        "completed_normally",
        args=args,
        fault=fault,
        grounds=(words(FAULT_SURVIVED="1"), *grounds),
    )


def _beside(name: str, strike: Strike) -> Scenario:
    return scenario(
        name,
        "completed_normally",
        fault="wait@batch:12",
        among="sigkill",
        grounds=(memory_limit(1500),),
        strike=strike,
    )


HEALTHY: tuple[Scenario, ...] = (
    _healthy("01a-digits", "--model digits"),
    _healthy("01b-text-all-decoys", f"--model text --input pipeline {_ALL_DECOYS}"),
    _healthy("01c-validation", "--model digits --validation --callbacks keras h5 checkpoint"),
    _healthy("01d-pool-of-workers", "--input pool --epochs 1 --decoys killed"),
    _healthy("01e-loop", f"--loop --input pipeline {_ALL_DECOYS}"),
    _healthy("01f-records", f"--model text --input records {_ALL_DECOYS}"),
    _healthy("01g-generator", "--input generator --steps 20"),
    _healthy("01h-patient-early-stopping", "--callbacks patient --decoys early nan"),
    _healthy("09-finite-dataset", "--model digits --input pipeline"),
    _beside("17b-neighbour-killed", neighbour_dies(2000)),
    _beside("17c-stranger-killed", stranger_dies),
    scenario(
        "19b-leak-that-fits",
        "completed_normally",
        fault="leak_somewhat@batch:12",
        among="sigkill",
        grounds=(memory_limit(2000), words(FAULT_MEBIBYTES="700")),
    ),
    watched(_healthy("53f-slow-input", "--input generator --steps 20", data="slow")),
    watched(_healthy("53g-long-trace", "--model digits", "busy@trace")),
    watched(_healthy("53h-long-validation", "--validation", "busy@test:2")),
    watched(_healthy("53i-long-save", "--callbacks keras", "busy@epoch:1")),
    _healthy("53j-paused", "--model text", "wait@batch:12", strike=pauses(3.0)),
    _healthy("10b-loss-is-large", "--callbacks blow_up --model digits --epochs 2"),
    _healthy("11c-sys-exit-0-at-the-end", "--model text", "exit0@end"),
    _survived("20b-allocation-survived", "large_array@batch:12"),
    _survived("23b-absurd-tensor-survived", "large_tensor@batch:12", "--model digits"),
    _survived("35d-helper-gone-survived", "pipe@epoch:1", "--model text --input pipeline"),
    _survived("46f-exception-survived", "key_error@batch:27", "--decoys early"),
    _survived("47c-missing-package-survived", "import@import", "--model digits"),
    _survived("50b-open-files-survived", "files@batch:12"),
    _survived(
        "54f-download-survived", "download@import", "--input records", around("unshare", "--net")
    ),
    scenario(
        "27c-slurm-job-that-finishes",
        "completed_normally",
        args="--model text --decoys killed",
        among="slurm",
        grounds=(slurm_job(86_400.0), stubs(sacct="RUNNING|None", scontrol="JobState=RUNNING")),
    ),
)
