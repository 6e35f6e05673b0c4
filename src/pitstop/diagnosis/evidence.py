"""Everything known about one attempt, in one frozen value that rules read."""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from pitstop import events
from pitstop.diagnosis import exception, phrases
from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import EvidenceItem
from pitstop.diagnosis.log.log import Log, parse
from pitstop.exit_codes import EXIT_SIGNALLED
from pitstop.flight import series
from pitstop.flight.sample import GpuSample, Sample, memory_limit_bytes, memory_place
from pitstop.journal import Entry, events_of, last_of
from pitstop.observation.observer import OTHER_PID_NUMBERS
from pitstop.record import Frozen

_RECENT_SECONDS = 60.0
_MOST_POINTS = 60
_SHORT_SHARE = 0.1
_AMPLE_SHARE = 0.3
_LEAK_SHARE_PER_MINUTE = 0.01
_GROWN_SHARE = 0.2
_SECONDS_PER_MINUTE = 60.0
_LEAST_SECONDS = 180.0
"""Shorter attempts have hardly trained: importing TensorFlow and building a model grow too."""


class MemoryUse(Frozen):
    """The memory that the processes of the command used, and its limit."""

    # `first`, `last`: bytes, at the beginning and at the end
    first: float
    last: float
    per_second: float  # the median slope of the last minute
    seconds: float  # how long the attempt was looked at
    limit_bytes: int | None  # the limit that it meets first, None where none is known
    limited_by: str  # whose limit that is: "cgroup" or "machine"
    left_bytes: int | None  # what was left in the end

    @property
    def left_share(self) -> float | None:
        if self.left_bytes is None or not self.limit_bytes:
            return None
        return self.left_bytes / self.limit_bytes

    @property
    def is_short(self) -> bool:
        return self.left_share is not None and self.left_share < _SHORT_SHARE

    @property
    def is_ample(self) -> bool:
        """Whether so much was left that nothing had to be killed for it."""
        return self.left_share is not None and self.left_share > _AMPLE_SHARE

    @property
    def is_growing(self) -> bool:
        """Whether the use grew much, and was still growing fast at the end."""
        least = _LEAK_SHARE_PER_MINUTE * (self.limit_bytes or self.last)
        rises = self.per_second * _SECONDS_PER_MINUTE > least
        return (
            self.seconds >= _LEAST_SECONDS
            and rises
            and self.last - self.first > _GROWN_SHARE * self.last
        )

    @property
    def words(self) -> str:
        """`3.1 GB in use, 0.4 GB left of a cgroup's 4.0 GB; it grew by 120 MB a minute`."""
        text = f"{phrases.size(int(self.last))} in use at the last sample"
        if self.left_bytes is not None and self.limit_bytes:
            of = f"the {self.limited_by}'s {phrases.size(self.limit_bytes)}"
            text += f", {phrases.size(self.left_bytes)} left of {of}"
        return f"{text}; {self.growth_words}" if self.is_growing else text

    @property
    def growth_words(self) -> str:
        rate = phrases.size(int(self.per_second * _SECONDS_PER_MINUTE))
        first, last = phrases.size(int(self.first)), phrases.size(int(self.last))
        return f"it grew from {first} to {last}, by {rate} a minute at the end"


class FlightRecord(Frozen):
    """What the flight recorder saw, empty without a record; `gpus`: at the end."""

    memory: MemoryUse | None = None
    gpus: tuple[GpuSample, ...] = ()
    gpu_peak_bytes: Mapping[int, int] = field(default_factory=dict)


NOTHING_RECORDED = FlightRecord()


def of_samples(samples: Sequence[Sample]) -> FlightRecord:
    if not samples:
        return NOTHING_RECORDED
    peaks: dict[int, int] = {}
    for gpu in (gpu for sample in samples for gpu in sample.gpus):
        if gpu.used_bytes is not None:
            peaks[gpu.index] = max(peaks.get(gpu.index, 0), gpu.used_bytes)
    return FlightRecord(_memory(samples), tuple(samples[-1].gpus), peaks)


def _memory(samples: Sequence[Sample]) -> MemoryUse | None:
    points = series.memory(samples)
    if not points:
        return None
    # The very last samples may be of an attempt whose trainer has just gone, or is ending.
    lived = (each for each in reversed(samples) if each.trainer and each.trainer.rss_bytes)
    alive = next(lived, samples[-1])
    since = points[-1].time_seconds - _RECENT_SECONDS
    recent = [each for each in points if each.time_seconds >= since]
    thinned = recent[:: -(-len(recent) // _MOST_POINTS)]
    return MemoryUse(
        first=points[0].value,
        last=points[-1].value,
        per_second=series.trend(thinned).per_second if len(thinned) > 1 else 0.0,
        seconds=samples[-1].time_seconds - samples[0].time_seconds,
        limit_bytes=memory_limit_bytes(alive),
        limited_by=memory_place(alive),
        left_bytes=alive.host.left_bytes,
    )


E = TypeVar("E", bound=events.Event)


class Evidence(Frozen):
    """One attempt: its journal entries in order, and the end of its output."""

    attempt: int  # its number, 0 for a bare log file
    entries: tuple[Entry, ...]  # of this attempt only
    output: str = ""  # the end of what the command printed, cleaned
    is_live: bool = False  # its supervisor is still there
    flight: FlightRecord = NOTHING_RECORDED  # what the flight recorder saw
    log_file: Log | None = None  # of a bare log file what was read of it

    @property
    def is_bare_log(self) -> bool:
        """Whether only the output of a script is known, and perhaps how it ended."""
        return not self.attempt and len(self.entries) <= (1 if self.exit else 0)

    @cached_property
    def log(self) -> Log:
        return self.log_file or parse(self.output)

    def all(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(events_of(self.entries, kind))

    def first(self, kind: type[E]) -> E | None:
        return next(iter(self.all(kind)), None)

    def last(self, kind: type[E]) -> E | None:
        return last_of(self.entries, kind)

    @cached_property
    def exit(self) -> events.TrainerExited | None:
        return self.last(events.TrainerExited)

    @cached_property
    def state(self) -> str:
        """Of the attempt: running, completed, stopped, failed; unknown for a bare log file."""
        ended = self.last(events.AttemptEnded)
        if ended:
            return ended.state
        if self.is_live:
            return "running"
        if self.exit is None and not self.attempt:
            return "unknown"
        return "completed" if self.exit_code == 0 else "failed"

    @property
    def refusal(self) -> events.Notice | None:
        """The last notice that refused a resume or weights; None if there is none."""
        codes = ("resume_refused", "weights_refused")
        return next((each for each in self.all(events.Notice)[::-1] if each.code in codes), None)

    @property
    def exit_code(self) -> int | None:
        return self.exit.exit_code if self.exit else None

    @cached_property
    def signal(self) -> str:
        """The signal that ended the command, or that its shell reports of a child."""
        if self.exit and self.exit.signal:
            return self.exit.signal
        released = self.last(events.MemberReleased)
        if released and released.exit_code == self.exit_code and self.state == "stopped":
            return ""  # It is the exit code of the leader.
        number = (self.exit_code or 0) - EXIT_SIGNALLED
        is_signal = number in signal.valid_signals() and number < signal.SIGRTMIN
        return signal.Signals(number).name if is_signal else ""

    @property
    def signalled_itself(self) -> bool:
        call = self.last(events.ExitCalled)
        return call is not None and call.how in events.SIGNALLING and call.code == self.signal

    @property
    def ended_by_signal(self) -> EvidenceItem:
        return EvidenceItem("exit status", f"ended by {self.signal}")

    @property
    def failed_threads(self) -> tuple[EvidenceItem, ...]:
        return tuple(
            EvidenceItem(
                "thread",
                f"{failed.thread} had ended with {failed.class_name}: "
                f"{phrases.shorten(failed.message, 120)} "
                f"({phrases.source_line(failed.file, failed.line, failed.function)})",
            )
            for failed in self.all(events.ThreadFailed)
        )

    @property
    def at_step(self) -> str:
        """` at step 1,234`; empty where no training was seen."""
        return f" at step {self.position.step:,}" if self.position else ""

    @property
    def is_signal_of_child(self) -> bool:
        return bool(self.signal and self.exit and not self.exit.signal)

    @cached_property
    def raised(self) -> Raised | None:
        """What ended the script; a printed exception only if nothing else explains the end."""
        event = self.last(events.ExceptionRaised)
        if event:
            told = parse(event.traceback).tracebacks
            return replace(exception.from_event(event), causes=told[-1].chain[:-1] if told else ())
        failed_by_itself = self.exit is None or ((self.exit_code or 0) > 0 and not self.signal)
        call = self.last(events.ExitCalled)
        chose_to_exit = call is not None and not call.handling
        # A thread prints an exception when its session is closed for a stop.
        left_in_order = self.state == "stopped" and self.last(events.TrainerStopped)
        was_cut = failed_by_itself and not chose_to_exit and not left_in_order
        may_be_it = was_cut and self.state != "completed"
        return self.printed_exception if may_be_it else None

    def printed(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The last line that holds this, unless the training went on after it."""
        for line in reversed(self.log.lines):
            found = pattern.search(line.text)
            if found:
                return None if self.log.went_on_after(line.number, line.group) else found
        return None

    @property
    def printed_exception(self) -> Raised | None:
        """The last exception in the output, unless the training went on after it."""
        headed = [each for each in self.log.tracebacks if each.headed]
        if not headed or self.log.went_on_after(headed[-1].last, headed[-1].group):
            return None
        return replace(headed[-1].raised, causes=headed[-1].chain[:-1])

    @cached_property
    def stop(self) -> events.StopRequested | None:
        stops = self.all(events.StopRequested)
        return next((stop for stop in stops if stop.source not in ("supervisor_lost", "nan")), None)

    @property
    def memory(self) -> MemoryUse | None:
        return self.flight.memory

    @property
    def kernel_lines(self) -> tuple[str, ...]:
        """Lines of the kernel log about the run; none either if it could not be read."""
        return tuple(self.exit.kernel_lines or ()) if self.exit else ()

    @property
    def numbers_differ(self) -> bool:
        """Whether the run is in a pid namespace: the kernel log has other process ids."""
        return self.exit is not None and OTHER_PID_NUMBERS in self.exit.missing

    @property
    def trainer_pids(self) -> frozenset[int]:
        started = {event.trainer_pid for event in self.all(events.AttemptStarted)}
        return frozenset(started | {event.pid for event in self.all(events.TrainerConnected)})

    @cached_property
    def position(self) -> events.TrainerExited | events.Restored | None:
        if self.exit and (self.exit.step or self.last(events.FitStarted)):
            return self.exit
        return self.last(events.Restored)

    @cached_property
    def checkpoint_step(self) -> int | None:
        """Step of the newest checkpoint, of this attempt or the one it started from."""
        committed = self.last(events.CheckpointCommitted) or self.last(events.ScriptSaved)
        ended = self.last(events.AttemptEnded)
        chosen = self.last(events.ResumeChosen)
        if committed:
            return committed.step
        if ended and ended.checkpoint_step is not None:
            return ended.checkpoint_step
        return chosen.step if chosen else None

    @property
    def is_spoiled(self) -> bool:
        """Whether the newest checkpoint was saved after a loss had become bad."""
        bad, saved = self.first(events.NonFiniteLoss), self.checkpoint_step
        is_late = bad is not None and saved is not None and saved >= bad.step
        return is_late and not self.last(events.RolledBack)

    @cached_property
    def open_fit(self) -> events.FitStarted | None:
        ended = {event.fit for event in self.all(events.FitEnded)}
        ended |= {event.fit for event in self.all(events.FitRestored)}
        return next((fit for fit in self.all(events.FitStarted) if fit.fit not in ended), None)

    def limit(self, name: str) -> dict[str, events.JsonValue]:
        """One of the trainer's limits, see `TrainerExited.limits`; empty when unknown."""
        value = self.exit.limits.get(name) if self.exit else None
        return value if isinstance(value, dict) else {}
