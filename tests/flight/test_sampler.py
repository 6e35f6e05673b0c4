"""The machine and the cgroups, from made-up trees of both versions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pitstop.events import ExhaustionForecast
from pitstop.flight.files import read_spaced
from pitstop.flight.forecast import ExhaustionMonitor
from pitstop.flight.sample import TRAINER, Sample
from pitstop.flight.sampler import FlightRecorder, HostReader, ProcessRoles, Sampler
from pitstop.flight.tensorboard_writer import TensorBoardWriter
from pitstop.link.beacon import Beacon, Phase
from pitstop.link.messages import VitalsReport
from tests.flight.samples import ALL
from tests.source_tree import SOURCE

PID = 77


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without cgroups."""
    meminfo = "MemTotal: 800 kB\nMemAvailable: 500 kB\nSwapTotal: 20 kB\nSwapFree: 5 kB\n"
    write(tmp_path / "proc/meminfo", meminfo)
    write(tmp_path / "proc/vmstat", "oom_kill 3\npgfault 9\n")
    write(tmp_path / "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda rw\n")
    return tmp_path


def v2(root: Path) -> Path:
    write(root / f"proc/{PID}/cgroup", "0::/job\n")
    write(root / "proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    group = root / "sys/fs/cgroup/job"
    for name, text in {
        "memory.current": "300000\n",
        "memory.max": "400000\n",
        "memory.stat": "anon 1\nactive_file 10000\ninactive_file 20000\n",
        "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n",
        "pids.current": "12\n",
        "pids.max": "max\n",
    }.items():
        write(group / name, text)
    return group


def test_the_machine(root: Path) -> None:
    found = HostReader(root).host()
    assert (found.total_bytes, found.available_bytes) == (800 << 10, 500 << 10)
    assert found.left_bytes == found.available_bytes


def test_a_cgroup_of_version_2(root: Path) -> None:
    v2(root)
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (2, 300_000, 400_000)
    assert found.cache_bytes == 30_000
    assert (found.pids, found.pids_limit) == (12, None)
    assert reader.host().left_bytes == 130_000


def test_a_cgroup_of_version_1(root: Path) -> None:
    lines = "5:pids:/b\n4:memory:/a\n"
    write(root / f"proc/{PID}/cgroup", lines)
    mounts = "".join(
        f"3{i} 31 0:3{i} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
        for i, name in enumerate(("memory", "pids"))
    )
    write(root / "proc/self/mountinfo", mounts)
    top = root / "sys/fs/cgroup"
    write(top / "memory/a/memory.usage_in_bytes", "1000\n")
    write(top / "memory/a/memory.limit_in_bytes", "4000\n")
    write(top / "memory/a/memory.stat", "total_active_file 100\ntotal_inactive_file 200\n")
    write(top / "pids/b/pids.current", "5\n")
    write(top / "pids/b/pids.max", "50\n")
    reader = HostReader(root)
    reader.follow(PID)
    found = reader.cgroup()
    assert found is not None
    assert (found.version, found.usage_bytes, found.limit_bytes) == (1, 1000, 4000)
    assert found.cache_bytes == 300
    assert (found.pids, found.pids_limit) == (5, 50)


def test_nothing_to_read_is_nothing_known(tmp_path: Path) -> None:
    reader = HostReader(tmp_path)
    reader.follow(PID)
    assert reader.cgroup() is None
    assert reader.host().left_bytes is None


def test_this_machine() -> None:
    reader = HostReader()
    reader.follow(os.getpid())
    found = reader.host()
    assert found.total_bytes is not None
    assert found.available_bytes is not None
    assert 0 < found.available_bytes < found.total_bytes


_EVERY_SECONDS = 0.02
_BESIDE_ITSELF = """
import os, pathlib, sys, time
from pitstop.flight.sampler import FlightRecorder
from pitstop.flight.sampler import ProcessRoles, Sampler
from pitstop.flight.tensorboard_writer import TensorBoardWriter
from pitstop.link.beacon import Beacon
folder = pathlib.Path(sys.argv[1])
sampler = Sampler(Beacon.create(), lambda: ProcessRoles({os.getpid(): "trainer"}), {"run": folder})
writer = TensorBoardWriter(1, 0.0, lambda: None)
FlightRecorder(folder, sampler, 0.01, writer).start()
input()
"""


class Witness(TensorBoardWriter):
    """Waits until so many samples were taken."""

    def __init__(self, count: int = 0) -> None:
        super().__init__(1, 0.0, lambda: None)
        self.samples: list[Sample] = []
        self.enough = threading.Event()
        self.closed = False
        self._count = count

    def see(self, sample: Sample) -> None:
        self.samples.append(sample)
        if len(self.samples) >= self._count:
            self.enough.set()

    def close(self) -> None:
        self.closed = True


def recorder(folder: Path, beacon: Beacon, witness: Witness) -> FlightRecorder:
    sampler = Sampler(beacon, lambda: ProcessRoles({os.getpid(): TRAINER}, 7), {"run": folder})
    recorder = FlightRecorder(folder, sampler, _EVERY_SECONDS, witness)
    recorder.cost_share = 1.0  # a busy machine takes no longer
    return recorder


def test_what_is_recorded_is_what_is_read(tmp_path: Path) -> None:
    beacon = Beacon.create()
    beacon.write_plan(0, 10, 100)
    beacon.write_position(42, 2, 5, time.monotonic_ns(), 0.25)
    beacon.write_phase(Phase.TRAIN)
    witness = Witness(5)
    flight = recorder(tmp_path, beacon, witness)
    report = VitalsReport({"mae": 0.5}, learning_rate=0.1, log_folder="/logs")
    flight.on_metrics(report)
    flight.start()
    assert witness.enough.wait(20)
    flight.close()
    assert witness.closed
    assert list(read_spaced(tmp_path, ALL)) == witness.samples
    last = witness.samples[-1]
    assert flight.latest == last
    assert last.training is not None
    assert (last.training.step, last.training.epoch, last.training.loss) == (42, 2, 0.25)
    assert (last.training.metrics, last.training.learning_rate) == ({"mae": 0.5}, 0.1)
    assert (last.training.checkpoint_step, last.training.phase) == (7, "train")
    assert last.trainer is not None
    assert last.trainer.pid == os.getpid()
    assert last.disks[0].used_by == ["run"]
    assert flight.take_forecasts() == []


def test_times_and_numbers_rise(tmp_path: Path) -> None:
    witness = Witness(5)
    flight = recorder(tmp_path, Beacon.create(), witness)
    flight.start()
    assert witness.enough.wait(20)
    flight.close()
    found = witness.samples
    assert [sample.number for sample in found] == list(range(len(found)))
    clocks = [sample.clock_seconds for sample in found]
    assert clocks == sorted(set(clocks))


def test_a_folder_that_is_gone_costs_samples_only(tmp_path: Path) -> None:
    witness = Witness(3)
    flight = recorder(tmp_path / "nowhere", Beacon.create(), witness)
    flight.start()
    assert witness.enough.wait(20)
    flight.close()
    assert read_spaced(tmp_path / "nowhere", ALL) == ()


def test_the_last_samples_survive_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BESIDE_ITSELF, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        while len(read_spaced(tmp_path, ALL)) < 3:
            assert process.poll() is None
        before = read_spaced(tmp_path, ALL)
        process.send_signal(signal.SIGKILL)
    after = read_spaced(tmp_path, ALL)
    assert after[: len(before)] == before
    assert after[-1].trainer is not None
    assert after[-1].trainer.pid == process.pid


def test_a_forecast_is_taken_once_also_while_another_is_made(tmp_path: Path) -> None:
    flight = recorder(tmp_path, Beacon.create(), Witness())
    taken: list[ExhaustionForecast] = []

    class Asked(ExhaustionMonitor):
        """The supervisor takes what there is while the recorder's thread looks ahead."""

        def see(self, sample: Sample) -> list[ExhaustionForecast]:
            taken.extend(flight.take_forecasts())
            return [forecast_of(sample.number)]

    flight._exhaustion_monitor = Asked()
    for _ in range(3):
        flight._record()
    taken += flight.take_forecasts()
    assert [each.step for each in taken] == [0, 1, 2]


def forecast_of(step: int) -> ExhaustionForecast:
    return ExhaustionForecast("memory", "machine", 1.0, 1.0, 1.0, 1.0, 1.0, step)


def test_children_are_found(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        sampler = Sampler(
            Beacon.create(), lambda: ProcessRoles({os.getpid(): TRAINER}), {"run": tmp_path}
        )
        roles = {process.pid: process.role for process in sampler.take(VitalsReport()).processes}
        child.kill()
    assert roles[child.pid] == "child"
    assert roles[os.getpid()] == "trainer"


def test_before_anybody_trains_nothing_is_known_of_it(tmp_path: Path) -> None:
    sampler = Sampler(Beacon.create(), lambda: ProcessRoles({}), {"run": tmp_path})
    sample = sampler.take(VitalsReport())
    assert sample.trainer is None
    assert sample.training is not None
    assert sample.training.loss is None
    assert sample.host.total_bytes
