"""What `pitstop plan` does: runs the first steps of a script, and extrapolates what they took."""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pitstop.events import StepMemory
from pitstop.export import host
from pitstop.export.host import Host, Outcome, Say, Script
from pitstop.flight import gpus
from pitstop.link.settings import Settings
from pitstop.machine import cgroup
from pitstop.machine.memory import available_bytes
from pitstop.record import Frozen

_SHARES = (1.0, 1 / 8, 1 / 64)
"""Of the script's batch: the next smaller one is tried where not even the first step fits."""
_USABLE = 0.9  # of what is left: a run needs more now and then
HALT_STEP = 20  # a training whose memory nobody measures ends here
_REMEDY = "First run the script alone; `plan` measures model.fit, pitstop.start and tf.functions."


class MemoryNeed(Frozen):
    name: str  # "host", or a device
    peak_bytes: int | None  # at the script's batch, None where it is not known
    is_measured: bool  # else it was reckoned from smaller batches
    bytes_per_record: float | None  # None where it was too little to be seen, or was not measured
    left_bytes: int | None  # that may be taken, None where it is not known
    largest_batch: int | None  # of which a tenth of the memory stays free; None where nobody knows

    @property
    def fits(self) -> bool | None:
        if not self.is_measured:
            return False
        if self.left_bytes is None or self.peak_bytes is None:
            return None
        return self.peak_bytes <= self.left_bytes


class MemoryPlan(Frozen):
    records: int  # of its batch, 0 where it is not known
    before_bytes: int  # the peak before the first step, 0 where it is not known
    mapped_files_bytes: int  # of the host's peak, libraries that the kernel could read again
    state_bytes: int  # of all variables
    needs: tuple[MemoryNeed, ...]  # the host first
    error: str  # what the step ended in, at the script's batch

    @property
    def fits(self) -> bool:
        return all(each.fits is not False for each in self.needs)


def make_plan(command: Sequence[str], environment: Mapping[str, str], say: Say) -> MemoryPlan:
    """Runs the command up to its first steps; raises `EnvironmentFault` or a `UserError`."""
    left_bytes, devices_left = available_bytes(), _left_on_devices()
    told: list[StepMemory] = []
    for share in _SHARES:
        batch = "" if share == 1 else f" with {share:.1%} of its batch"
        say(f"running the script up to its first steps{batch}; nothing is saved.")
        kills = _oom_kills()
        settings = Settings(measure_from=share, halt_at_step=HALT_STEP)
        outcome = Host(settings).run(Script(command, Path.cwd(), environment))
        found = [each for each in outcome.events if isinstance(each, StepMemory)]
        told += found
        if _tells_enough(told):
            break
        if not any(map(_is_good, found)) and not _was_short(outcome, found, _oom_kills() - kills):
            raise host.failure(outcome, _REMEDY)
        if not found:
            break
    return reckon(told, left_bytes, devices_left)


def reckon(told: Sequence[StepMemory], left_bytes: int, devices_left: int | None) -> MemoryPlan:
    """The plan from what one process, or several in sequence, reported.  Pure."""
    begun = [each for each in told if not each.share]
    good = sorted(filter(_is_good, told), key=lambda each: each.share)
    before = max((each.peak_bytes for each in begun), default=0)
    at_one = [each for each in good if each.share == 1]
    records = round(good[0].records / good[0].share) if good else 0
    of_host = [each.peak_bytes + each.children_bytes for each in good]
    needs = [_need("host", good, of_host, left_bytes)]
    for name in good[0].devices if good else ():
        of_device = [each.devices.get(name, 0) for each in good]
        needs.append(_need(name, good, of_device, devices_left))
    errors = [each.error for each in told if each.error and each.share == 1]
    first = (at_one or good or told or [StepMemory(0, 0, 0)])[0]
    sizes = first.mapped_files_bytes, first.state_bytes
    return MemoryPlan(records, before, *sizes, tuple(needs), "".join(errors[:1]))


def _need(
    name: str, good: Sequence[StepMemory], peaks: Sequence[int], left_bytes: int | None
) -> MemoryNeed:
    if not good:
        return MemoryNeed(name, None, False, None, left_bytes, None)
    first, last = good[0], good[-1]
    more = last.records - first.records
    slope = (peaks[-1] - peaks[0]) / more if more > 0 else 0.0
    at_one = next((peak for each, peak in zip(good, peaks, strict=True) if each.share == 1), None)
    largest = None
    if slope > 0 and left_bytes is not None:
        largest = max(0, first.records + int((left_bytes * _USABLE - peaks[0]) / slope))
    if at_one is not None:
        return MemoryNeed(name, at_one, True, slope or None, left_bytes, largest)
    whole = last.records / last.share
    reckoned = int(peaks[-1] + slope * (whole - last.records)) if slope > 0 else None
    return MemoryNeed(name, reckoned, False, slope or None, left_bytes, largest)


def _is_good(each: StepMemory) -> bool:
    return each.share > 0 and not each.error


def _tells_enough(told: Iterable[StepMemory]) -> bool:
    shares = {each.share for each in told if _is_good(each)}
    return 1 in shares or len(shares) > 1


def _was_short(outcome: Outcome, found: Iterable[StepMemory], kills: int) -> bool:
    return any(each.error for each in found) or (kills > 0 and outcome.exit_code == -signal.SIGKILL)


def _oom_kills() -> int:
    group = cgroup.find(os.getpid())
    return (cgroup.read(group).oom_kills or 0) if group is not None else 0


def _left_on_devices() -> int | None:
    samples = gpus.GpuReader(gpus.load(), set).read()
    free = [
        each.total_bytes - each.used_bytes
        for each in samples
        if each.total_bytes is not None and each.used_bytes is not None
    ]
    return min(free, default=None)
