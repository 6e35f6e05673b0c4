"""GPUs as NVIDIA's management library (NVML) shows them; nothing where there are none."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from pitstop.flight.sample import GpuSample

_NOT_SLOWED = frozenset({"GpuIdle", "None", "All", "ApplicationsClocksSetting"})
_REASON = "nvmlClocksThrottleReason"


def load() -> ModuleType | None:
    """The NVML library, ready for use; None if it is not installed or finds no driver."""
    try:
        library = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        library.nvmlInit()
    except library.NVMLError:
        return None
    return library


class GpuReader:
    def __init__(self, library: Any, own_pids: Callable[[], set[int]]) -> None:
        self._library = library
        self._own_pids = own_pids
        self._handles: list[Any] = []
        self._xids: dict[int, int] = {}
        self._events: Any = None
        if library is not None:
            count = self._ask("nvmlDeviceGetCount") or 0
            self._handles = [self._ask("nvmlDeviceGetHandleByIndex", i) for i in range(count)]
            self._events = self._watch_errors()

    def read(self) -> list[GpuSample]:
        self._collect_errors()
        own = self._own_pids()
        return [self._sample(index, handle, own) for index, handle in enumerate(self._handles)]

    def _sample(self, index: int, handle: Any, own: set[int]) -> GpuSample:
        library = self._library
        memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
        rates = self._ask("nvmlDeviceGetUtilizationRates", handle)
        users = self._ask("nvmlDeviceGetComputeRunningProcesses", handle) or []
        ours = (user.usedGpuMemory for user in users if user.pid in own)
        known = [int(size) for size in ours if size is not None]
        errors = (library.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, library.NVML_VOLATILE_ECC)
        return GpuSample(
            index=index,
            name=str(self._ask("nvmlDeviceGetName", handle) or ""),
            used_bytes=None if memory is None else int(memory.used),
            total_bytes=None if memory is None else int(memory.total),
            # None is named in another pid namespace, and with MIG.
            own_bytes=sum(known) if known else None,
            utilization=None if rates is None else rates.gpu / 100,
            throttled=list(self._reasons(handle)),
            ecc_errors=self._ask("nvmlDeviceGetTotalEccErrors", handle, *errors),
            xid=self._xids.get(index),
        )

    def _reasons(self, handle: Any) -> Iterator[str]:
        bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle) or 0
        for name in dir(self._library):
            reason = name.removeprefix(_REASON)
            known = name.startswith(_REASON) and reason not in _NOT_SLOWED
            if known and bits & getattr(self._library, name):
                yield reason

    def _watch_errors(self) -> Any:
        library = self._library
        events = self._ask("nvmlEventSetCreate")
        for handle in self._handles if events is not None else ():
            self._ask(
                "nvmlDeviceRegisterEvents", handle, library.nvmlEventTypeXidCriticalError, events
            )
        return events

    def _collect_errors(self) -> None:
        while self._events is not None:
            event = self._ask("nvmlEventSetWait", self._events, 0)
            if event is None:
                return
            index = self._ask("nvmlDeviceGetIndex", event.device)
            if index is not None:
                self._xids[index] = int(event.eventData)

    def _ask(self, name: str, *arguments: Any) -> Any:
        with contextlib.suppress(self._library.NVMLError):
            return getattr(self._library, name)(*arguments)
        return None
