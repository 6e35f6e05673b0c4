"""Sizes of the run in the advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis.evidence import FlightRecord
from pitstop.diagnosis.log.verdict import about_memory
from pitstop.events import FitStarted
from pitstop.flight.sample import GpuSample
from tests.diagnosis.attempts import CONNECTED, STARTED, advice_of, attempt_of, exited, raised
from tests.diagnosis.flights import GB

OOM = raised(
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError",
    "OOM when allocating tensor with shape[256,112,112,64] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    "OpError Exception BaseException",
)


@pytest.mark.parametrize(
    ("batch_size", "line"),
    [
        (256, "batch_size is 256: a batch of 128 needs 411.0 MB there."),
        (None, "If 256 is the batch, a batch of 128 needs 411.0 MB there."),
    ],
)
def test_the_batch_that_would_take_half(batch_size: int | None, line: str) -> None:
    fit = FitStarted(0, 5, 20, {"batch_size": batch_size})
    advice = advice_of(attempt_of(STARTED, CONNECTED, fit, OOM, exited(1), state="failed"))
    assert advice[:2] == ("One tensor of 256x112x112x64 takes 822.1 MB.", line)


def test_a_tensor_that_has_nothing_to_do_with_the_batch() -> None:
    fit = FitStarted(0, 5, 20, {"batch_size": 32})
    advice = advice_of(attempt_of(STARTED, CONNECTED, fit, OOM, exited(1), state="failed"))
    assert not any("a batch of" in line for line in advice)


def test_what_the_gpu_has_and_who_else_uses_it() -> None:
    gpu = GpuSample(0, "H200", used_bytes=11 * GB, total_bytes=12 * GB, own_bytes=8 * GB)
    seen = FlightRecord(gpus=(gpu,), gpu_peak_bytes={0: 11 * GB})
    failed = attempt_of(STARTED, CONNECTED, OOM, exited(1), state="failed")
    advice = advice_of(replace(failed, flight=seen))
    assert "GPU 0 has 12.0 GB; at most 11.0 GB of it was in use." in advice
    assert "Other programs used 3.0 GB of GPU 0." in advice
    assert not any("memory_limit" in line for line in advice)


def test_a_gpu_that_was_mostly_free() -> None:
    gpu = GpuSample(0, "H100", used_bytes=GB // 2, total_bytes=80 * GB, own_bytes=GB // 2)
    seen = FlightRecord(gpus=(gpu,), gpu_peak_bytes={0: GB // 2})
    failed = attempt_of(STARTED, CONNECTED, OOM, exited(1), state="failed")
    assert any("memory_limit" in line for line in advice_of(replace(failed, flight=seen)))


@pytest.mark.parametrize(
    ("said", "free"),
    [
        (" (GPU 0; 7.79 GiB total capacity; 5.5 GiB already allocated)", ""),
        # PyTorch 2.1 has the second spelling
        (". GPU 0 has a total capacity of 7.79 GiB of which 1.5 MiB is free.", "1.5 MiB"),
        (". GPU 0 has a total capacty of 7.79 GiB of which 1.5 MiB is free.", "1.5 MiB"),
    ],
)
def test_what_pytorch_says_of_its_memory(said: str, free: str) -> None:
    told = "20.00 MiB more was requested; the GPU has 7.79 GiB"
    rest = f", {free} of it free." if free else "."
    assert list(about_memory(f"CUDA out of memory. Tried to allocate 20.00 MiB{said}")) == [
        f"{told}{rest}"
    ]


def test_other_errors_get_no_sizes() -> None:
    failed = attempt_of(STARTED, CONNECTED, raised("ValueError", "shape[2,3]"), exited(1))
    assert not any("tensor" in line for line in advice_of(failed))
