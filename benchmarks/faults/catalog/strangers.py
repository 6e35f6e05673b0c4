"""Faults thought of by somebody who had not seen the rules (58 to 88)."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.faults.ground import Preparation, around, disk
from benchmarks.faults.scenario import Scenario, scenario, watched
from pitstop.diagnosis.finding import CauseId


def _stranger(
    name: str, *accepts: CauseId, says: str = "", grounds: tuple[Preparation, ...] = ()
) -> Scenario:
    number, _, words = name.partition("-")
    found = scenario(f"{number}-{words}", *accepts, says=says, grounds=grounds)
    fault = (words.replace("-", "_"),)
    return replace(found, script="stranger.py", arguments=fault, plain=False)


def _up_after(seconds: int, *options: str) -> tuple[Preparation, ...]:
    return (around("timeout", *options, str(seconds)),)


STRANGERS: tuple[Scenario, ...] = (
    _stranger("58-full-cache", "disk_full", says="features", grounds=(disk(24),)),
    watched(_stranger("59-dead-producer", "hang_or_stall", says="KeyError.*stranger.py")),
    replace(
        _stranger("60-stands-still", "hang_or_stall", says="callback", grounds=_up_after(35)),
        options=("--hang-after", "4s"),
    ),
    _stranger(
        "61-fails-and-stays",
        "callback_error",
        "user_code_error",
        says="best",
        grounds=_up_after(25),
    ),
    _stranger("62-double-free", "native_crash", says="double free"),
    _stranger("63-deep-recursion", "native_crash", says="recursion"),
    _stranger("64-missing-program", "dependency_or_import_error", says="ffmpeg-of-nobody"),
    _stranger("65-cut-weights", "checkpoint_corrupt_or_mismatch", says="truncated"),
    _stranger("66-other-weights", "checkpoint_corrupt_or_mismatch", says="shape"),
    _stranger("67-wrong-signature", "callback_error", says="logs"),
    _stranger("68-own-interrupt", "user_interrupt", says="itself raised"),
    _stranger("69-diverges", "completed_normally", says="loss grew"),
    _stranger("70-busy-store", "network_or_download_failure", says="SlowDown"),
    _stranger("71-log-of-zero", "nan_loss", says="weights"),
    _stranger("72-flood", "user_code_error", says="val_loss"),
    _stranger("73-leaves-a-server", "completed_normally"),
    _stranger("74-licence", "user_code_error", says="exit code 7.*stranger.py"),
    watched(_stranger("75-unpicklable-error", "hang_or_stall", "data_error", says="BadScan")),
    _stranger("76-stands-still", "time_limit", "hang_or_stall", grounds=_up_after(20, "-k", "60")),
    _stranger("77-numpy-on-a-full-disk", "disk_full", says="stranger.py", grounds=(disk(24),)),
    _stranger("78-own-watchdog", "hang_or_stall", says="it stood at .*stranger.py"),
    _stranger("79-own-timer", "time_limit", says="SIGALRM"),
    _stranger(
        "80-hidden-by-a-pipe",
        "callback_error",
        says="best",
        grounds=(around(inner=("sh", "-c", '"$@" | tee train.log', "sh")),),
    ),
    _stranger("81-schedule-divides", "callback_error", says="LearningRateScheduler"),
    _stranger("82-caught-label", "data_error", says="label value of 9"),
    _stranger("83-guard-gives-up", "nan_loss", says="loss became"),
    _stranger(
        "84-cluster-settings",
        "user_code_error",
        says="TF_CONFIG",
        grounds=(around(inner=("env", "TF_CONFIG={'cluster': {}}")),),
    ),
    _stranger("85-frozen-model", "completed_normally", says="in each of them"),
    _stranger("86-hidden-by-relu", "nan_loss", says="weights"),
    _stranger("87-lock-of-a-cache", "data_error", says="lockfile"),
    _stranger("88-asks-for-a-name", "user_code_error", says="EOF"),
)
