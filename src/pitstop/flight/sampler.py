"""Records a run beside it: a thread that takes samples, from everywhere, and keeps them."""

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from pitstop.events import ExhaustionForecast
from pitstop.flight import disks, gpus, processes, sample, series
from pitstop.flight.disks import DiskReader
from pitstop.flight.files import FlightFiles
from pitstop.flight.forecast import ExhaustionMonitor
from pitstop.flight.gpus import GpuReader
from pitstop.flight.sample import Sample
from pitstop.flight.tensorboard_writer import TensorBoardWriter
from pitstop.link.beacon import Beacon, Progress
from pitstop.link.messages import VitalsReport
from pitstop.machine import cgroup
from pitstop.machine.cgroup import MemoryCgroup
from pitstop.machine.kernel_file import read_number, read_text, size_bytes, table
from pitstop.record import Frozen

_CLOSE_SECONDS = 1.0


class HostReader:
    """Reads machine and cgroup; remembers where the trainer's cgroups are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._memory: MemoryCgroup | None = None
        self._pids: Path | None = None

    def follow(self, pid: int) -> None:
        self._memory = cgroup.find(pid, self._root)
        self._pids = cgroup.folder_of(pid, "pids", self._root)

    def host(self) -> sample.HostSample:
        memory = table(read_text(self._root / "proc/meminfo"), ":")
        available = size_bytes(memory, "MemAvailable")
        left = cgroup.left_bytes(self._memory) if self._memory else None
        return sample.HostSample(
            total_bytes=size_bytes(memory, "MemTotal"),
            available_bytes=available,
            left_bytes=min((each for each in (available, left) if each is not None), default=None),
        )

    def cgroup(self) -> sample.CgroupSample | None:
        group = self._memory
        if group is None:
            return None
        counters = cgroup.read(group)
        return sample.CgroupSample(
            version=group.version,
            usage_bytes=counters.usage_bytes,
            limit_bytes=counters.limit_bytes,
            cache_bytes=cgroup.cache_bytes(group),
            pids=read_number(self._pids / "pids.current") if self._pids else None,
            pids_limit=read_number(self._pids / "pids.max") if self._pids else None,
        )


_T = TypeVar("_T")

_FAMILY_SECONDS = 5.0  # so often it is looked for new processes
_DISK_SECONDS, _GPU_SECONDS = 1.0, 1.0
_UNANSWERED_SECONDS = 5.0
NO_CGROUP = "the memory cgroup of the training"


class Watcher(Generic[_T]):
    """Reads in a thread; `latest` never waits for a server or a GPU that does not answer."""

    cost_share = 0.0005
    """A reading is repeated so seldom that it takes no more than this share of the time."""

    def __init__(
        self, name: str, read: Callable[[], _T], initial: _T, every_seconds: float
    ) -> None:
        self.latest = initial
        self._read = read
        self._every_seconds = every_seconds
        self._began_at: float | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waits_seconds(self) -> float:
        began_at = self._began_at
        return 0.0 if began_at is None else time.monotonic() - began_at

    def close(self, patience_seconds: float = 0.0) -> None:
        self._closed.set()
        self._thread.join(patience_seconds)

    def _work(self) -> None:
        wait_seconds = 0.0
        while not self._closed.wait(wait_seconds):
            self._began_at = time.monotonic()
            cpu = time.thread_time()
            self.latest = self._read()
            self._began_at = None
            wait_seconds = max(self._every_seconds, (time.thread_time() - cpu) / self.cost_share)


class ProcessRoles(Frozen):
    """The known processes by id; `checkpoint_step` is None before the first durable checkpoint."""

    roles: Mapping[int, str]
    checkpoint_step: int | None = None

    @property
    def trainer_pid(self) -> int:
        """The process that trains, 0 for none."""
        return next((pid for pid, role in self.roles.items() if role == sample.TRAINER), 0)


class Sampler:
    """Reads cheap values itself; threads read what may not answer."""

    def __init__(
        self,
        beacon: Beacon,
        process_roles: Callable[[], ProcessRoles],
        places: Mapping[str, Path],
        root: Path = Path("/"),
    ) -> None:
        self._beacon = beacon
        self._process_roles = process_roles
        self._proc = root / "proc"
        self._host = HostReader(root)
        self._roles: dict[int, str] = {}
        self._followed = 0
        self._look_at = 0.0
        self._number = 0
        self._disk_reader = DiskReader(places, lambda: process_roles().trainer_pid, root)
        no_disk: list[sample.DiskSample] = []
        no_gpu: list[sample.GpuSample] = []
        self._disks = Watcher("pitstop-disks", self._disk_reader.read, no_disk, _DISK_SECONDS)
        self._gpu_reader: GpuReader | None = None
        self._gpus = Watcher("pitstop-gpus", self._read_gpus, no_gpu, _GPU_SECONDS)

    def start(self) -> None:
        self._disks.start()
        self._gpus.start()

    def close(self) -> None:
        self._disks.close()
        self._gpus.close()

    def take(self, metrics: VitalsReport) -> sample.Sample:
        now, process_roles = time.monotonic(), self._process_roles()
        self._look(now, process_roles)
        group = self._host.cgroup()
        read = (processes.read(pid, role, self._proc) for pid, role in self._roles.items())
        number, self._number = self._number, self._number + 1
        return sample.Sample(
            number=number,
            time_seconds=time.time(),
            clock_seconds=now,
            training=training(self._beacon.progress(), metrics, process_roles.checkpoint_step),
            processes=[each for each in read if each is not None],
            cgroup=group,
            host=self._host.host(),
            disks=self._answered_disks(),
            gpus=self._gpus.latest,
            missing=[NO_CGROUP] if group is None else [],
        )

    def _look(self, now: float, process_roles: ProcessRoles) -> None:
        if now >= self._look_at or process_roles.trainer_pid != self._followed:
            self._look_at = now + _FAMILY_SECONDS
            self._followed = process_roles.trainer_pid
            self._host.follow(process_roles.trainer_pid)
            found = processes.descendants([pid for pid in process_roles.roles if pid], self._proc)
            self._roles = processes.roles(process_roles.roles, found)

    def _answered_disks(self) -> list[sample.DiskSample]:
        latest = self._disks.latest
        if self._disks.waits_seconds < _UNANSWERED_SECONDS:
            return latest
        return disks.unanswered(latest, self._disk_reader.asking)

    def _read_gpus(self) -> list[sample.GpuSample]:
        # In the thread that reads: a broken driver may hold up the library's loading.
        self._gpu_reader = self._gpu_reader or GpuReader(gpus.load(), lambda: set(self._roles))
        return self._gpu_reader.read()


def training(
    progress: Progress, metrics: VitalsReport, checkpoint_step: int | None
) -> sample.TrainingSample:
    return sample.TrainingSample(
        step=progress.step,
        fit=progress.fit,
        epoch=progress.epoch,
        epochs=progress.epochs,
        step_in_epoch=progress.step_in_epoch,
        steps_per_epoch=progress.steps_per_epoch,
        phase=progress.phase.name.lower(),
        loss=None if math.isnan(progress.loss) else progress.loss,
        rate=1.0 / progress.step_seconds if progress.step_seconds > 0 else None,
        snapshot_step=progress.snapshot_step if progress.snapshot_step >= 0 else None,
        checkpoint_step=checkpoint_step,
        **vars(metrics),
    )


class FlightRecorder(Watcher[Sample | None]):
    """Takes samples at an interval, writes them, and forecasts what runs out.

    In its own thread: the run's disk may be slow. It and the supervisor exchange single attributes,
    replaced as a whole, and a deque.
    """

    cost_share = 0.003  # of one processor, at most; where a sample costs more, there are fewer

    def __init__(
        self,
        attempt_dir: Path,
        sampler: Sampler,
        every_seconds: float,
        tensorboard: TensorBoardWriter,
    ) -> None:
        super().__init__("pitstop-flight", self._record, None, every_seconds)
        self.input_share: float | None = None  # of the steps' time, spent waiting for input
        self._files = FlightFiles(attempt_dir)
        self._sampler = sampler
        self._exhaustion_monitor = ExhaustionMonitor()
        self._metrics = VitalsReport()
        self._new_forecasts: deque[ExhaustionForecast] = deque()
        self._tensorboard = tensorboard

    def start(self) -> None:
        self._sampler.start()
        super().start()

    def on_metrics(self, metrics: VitalsReport) -> None:
        self._metrics = metrics

    def take_forecasts(self) -> list[ExhaustionForecast]:
        return [self._new_forecasts.popleft() for _ in range(len(self._new_forecasts))]

    @property
    def forecasts(self) -> list[ExhaustionForecast]:
        return list(self._exhaustion_monitor.present.values())

    def close(self, patience_seconds: float = _CLOSE_SECONDS) -> None:
        super().close(patience_seconds)
        self._sampler.close()

    def _work(self) -> None:
        super()._work()
        self.latest = self._record()
        self._files.close()
        self._tensorboard.close()

    def _record(self) -> Sample:
        sample = self._sampler.take(self._metrics)
        # A full disk costs samples, nothing else.
        with contextlib.suppress(OSError):
            self._files.append(sample)
        self._new_forecasts.extend(self._exhaustion_monitor.see(sample))
        self._tensorboard.see(sample)
        if shares := series.input_share([self.latest, sample]) if self.latest else ():
            self.input_share = shares[-1].value
        return sample
