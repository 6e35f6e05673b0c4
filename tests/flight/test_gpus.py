"""GPUs, by a stand-in for NVIDIA's library; without one, nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pitstop.flight.gpus import GpuReader


class NVMLError(Exception):
    """What the library raises where a GPU or driver cannot answer."""


class Library:
    """Two GPUs; the second one answers nothing but its name."""

    NVMLError = NVMLError
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0
    NVML_TEMPERATURE_GPU = 0
    nvmlEventTypeXidCriticalError = 8  # noqa: N815
    nvmlClocksThrottleReasonGpuIdle = 1  # noqa: N815
    nvmlClocksThrottleReasonSwPowerCap = 4  # noqa: N815
    nvmlClocksThrottleReasonHwSlowdown = 8  # noqa: N815

    def __init__(self) -> None:
        self.errors = [SimpleNamespace(device=0, eventData=79)]
        self.calls: dict[str, Any] = {
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetIndex": lambda handle: handle,
            "nvmlDeviceGetName": lambda handle: f"GPU {handle}",
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=30, total=100),
            "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=75),
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                SimpleNamespace(pid=1, usedGpuMemory=20),
                SimpleNamespace(pid=2, usedGpuMemory=10),
                SimpleNamespace(pid=3, usedGpuMemory=None),
            ],
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: 1 | 4,
            "nvmlDeviceGetTotalEccErrors": lambda _, __, ___: 2,
            "nvmlEventSetCreate": lambda: "events",
            "nvmlDeviceRegisterEvents": lambda *_: None,
            "nvmlEventSetWait": lambda *_: self.errors.pop(0),
        }

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            silent = arguments[:1] == (1,) and name not in (
                "nvmlDeviceGetHandleByIndex",
                "nvmlDeviceGetName",
            )
            if silent or (name == "nvmlEventSetWait" and not self.errors):
                raise NVMLError
            return self.calls[name](*arguments)

        return call


def test_without_the_library_there_are_none() -> None:
    assert GpuReader(None, set).read() == []


def test_what_a_gpu_tells() -> None:
    first, _ = GpuReader(Library(), lambda: {1, 3, 9}).read()
    assert (first.index, first.name) == (0, "GPU 0")
    assert (first.used_bytes, first.total_bytes, first.own_bytes) == (30, 100, 20)
    assert first.utilization == 0.75
    assert first.throttled == ["SwPowerCap"]
    assert (first.ecc_errors, first.xid) == (2, 79)


def test_what_a_gpu_cannot_tell_is_not_known() -> None:
    _, second = GpuReader(Library(), set).read()
    assert second.name == "GPU 1"
    assert second.used_bytes is None
    assert second.utilization is None
    assert second.own_bytes is None
    assert second.throttled == []
    assert second.xid is None
