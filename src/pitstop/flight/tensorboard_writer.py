"""Shows a run in the TensorBoard that its user already looks at, without TensorFlow."""

import contextlib
import ctypes
import os
import re
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pitstop.flight import series
from pitstop.flight.sample import Sample

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
SCALARS, REPORTS = "pitstop", "pitstop-why"
"""What the names of event files end in: a resume cuts the scalars, and leaves the reports."""
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_HEAD_BYTES = _LENGTH.size + _CHECKSUM.size
# Field numbers of Event, Summary, Summary.Value and TensorProto.
_WALL_TIME, _STEP, _FILE_VERSION, _SUMMARY = 1, 2, 3, 5
_VALUE = 1
_TAG, _SIMPLE_VALUE, _TENSOR, _METADATA = 1, 2, 8, 9
_DTYPE, _SHAPE, _STRING = 1, 2, 8
_PLUGIN_DATA, _PLUGIN_NAME = 1, 1
_DT_STRING = 7
_TIME_BYTES = 9  # of the first field of an event of ours: a key, and a double


def integer(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def double(field: int, value: float) -> bytes:
    return _varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def real(field: int, value: float) -> bytes:
    return _varint(field << 3 | _FIXED32) + struct.pack("<f", ctypes.c_float(value).value)


def message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """The checksum of some hundred bytes; a tenth of a microsecond for each."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """The checksum as stored in a file: masked, since it may itself be checksummed."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


class EventFile:
    """One event file, appended to; every record is one `write`, which raises OSError if refused."""

    def __init__(self, folder: Path, time_seconds: float, suffix: str = SCALARS) -> None:
        """Begins a file with a name that no other has, and that ends in `suffix`."""
        folder.mkdir(parents=True, exist_ok=True)
        host = socket.gethostname()
        name = f"events.out.tfevents.{int(time_seconds):010d}.{host}.{os.getpid()}.{suffix}"
        self.path = folder / name
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o644)
        if not os.fstat(self._fd).st_size:
            version = text(_FILE_VERSION, "brain.Event:2")
            self._append(double(_WALL_TIME, time_seconds) + version)

    def scalars(self, step: int, time_seconds: float, values: Mapping[str, float]) -> None:
        parts = (text(_TAG, tag) + real(_SIMPLE_VALUE, value) for tag, value in values.items())
        self._summary(step, time_seconds, parts)

    def text(self, step: int, time_seconds: float, tag: str, markdown: str) -> None:
        metadata = message(_PLUGIN_DATA, text(_PLUGIN_NAME, "text"))
        tensor = integer(_DTYPE, _DT_STRING) + message(_SHAPE, b"") + text(_STRING, markdown)
        value = text(_TAG, tag) + message(_METADATA, metadata) + message(_TENSOR, tensor)
        self._summary(step, time_seconds, (value,))

    def close(self) -> None:
        os.close(self._fd)

    def _summary(self, step: int, time_seconds: float, values: Iterable[bytes]) -> None:
        summary = b"".join(message(_VALUE, value) for value in values)
        self._append(
            double(_WALL_TIME, time_seconds) + integer(_STEP, step) + message(_SUMMARY, summary)
        )

    def _append(self, event: bytes) -> None:
        os.write(self._fd, record(event))


def record(data: bytes) -> bytes:
    length = _LENGTH.pack(len(data))
    return length + _CHECKSUM.pack(masked(length)) + data + _CHECKSUM.pack(masked(data))


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEAD_BYTES <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        end = at + _HEAD_BYTES + length + _CHECKSUM.size
        if end > len(data):
            return
        yield at, data[at + _HEAD_BYTES : end - _CHECKSUM.size]
        at = end


def step_of(event: bytes) -> int:
    """The step of an event of ours, after its time; 0 for the first record, which has none."""
    # An empty event is the end of a file that a machine which went down has left.
    key, number = event[_TIME_BYTES : _TIME_BYTES + 1], event[_TIME_BYTES + 1 :]
    if key != bytes([_STEP << 3 | _VARINT]):
        return 0
    step = 0
    for place, byte in enumerate(number):
        step |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return step


def cut_behind(path: Path, step: int) -> None:
    """Shortens a file of ours to what belongs to this step and those before it."""
    data = path.read_bytes()
    later = (at for at, event in records(data) if step_of(event) > step)
    end = next(later, None)
    if end is not None:
        os.truncate(path, end)


FOLDER = "pitstop"  # in the log folder of the script's TensorBoard callback
EVERY_SECONDS = 10.0

_OURS = re.compile(rf"events\.out\.tfevents\.(\d+)\..+\.{SCALARS}")


class TensorBoardWriter:
    """Writes a sample every ten seconds, once the script's log folder is known."""

    def __init__(
        self, attempt: int, begun_seconds: float, resumed_from: Callable[[], int | None]
    ) -> None:
        """Files from before the run began are another run's; `resumed_from` gives None for none."""
        self._attempt = attempt
        self._begun_seconds = begun_seconds
        self._resumed_from = resumed_from
        self._file: EventFile | None = None
        self._written: Sample | None = None
        self._failed = False

    def see(self, sample: Sample) -> None:
        training = sample.training
        if training is None or not training.log_folder or self._failed or not self._is_due(sample):
            return
        try:
            self._write(Path(training.log_folder) / FOLDER, sample, training.step)
        except OSError:
            self._failed = True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_due(self, sample: Sample) -> bool:
        before = self._written
        if before is None or before.training is None or sample.training is None:
            return True
        advanced = sample.training.step > before.training.step
        return advanced and sample.clock_seconds - before.clock_seconds >= EVERY_SECONDS

    def _write(self, folder: Path, sample: Sample, step: int) -> None:
        if self._file is None:
            self._cut_earlier(folder)
            self._file = EventFile(folder, sample.time_seconds)
        values = {**scalars(self._written, sample), "pitstop/attempt": float(self._attempt)}
        self._file.scalars(step, sample.time_seconds, values)
        self._written = sample

    def _cut_earlier(self, folder: Path) -> None:
        resumed_from = self._resumed_from()
        if resumed_from is None or not folder.is_dir():
            return
        for path in folder.iterdir():
            named = _OURS.fullmatch(path.name)
            if named and int(named[1]) >= int(self._begun_seconds):
                cut_behind(path, resumed_from)


def write_report(folder: Path, step: int, time_seconds: float, markdown: str) -> None:
    with contextlib.suppress(OSError):
        file = EventFile(folder / FOLDER, time_seconds, REPORTS)
        file.text(step, time_seconds, "pitstop/why", markdown)
        file.close()


def scalars(before: Sample | None, sample: Sample) -> dict[str, float]:
    found = [*_levels(sample), *(_rates((before, sample)) if before else ())]
    return {f"pitstop/{name}": float(value) for name, value in found}


def _levels(sample: Sample) -> Iterator[tuple[str, float]]:
    trainer, group = sample.trainer, sample.cgroup
    yield "memory_mb", sample.memory_bytes / 1e6
    if sample.host.left_bytes is not None:
        yield "memory_left_mb", sample.host.left_bytes / 1e6
    if group is not None and group.usage_bytes is not None:
        yield "cgroup_memory_mb", group.usage_bytes / 1e6
    if trainer is not None:
        yield "threads", trainer.threads
        yield "open_files", trainer.open_files or 0
    for disk in sample.disks:
        if "run" in disk.used_by:
            yield "disk_free_mb", disk.free_bytes / 1e6
    for gpu in sample.gpus:
        yield f"gpu{gpu.index}/memory_mb", (gpu.used_bytes or 0) / 1e6
        yield f"gpu{gpu.index}/utilization", gpu.utilization or 0.0
    if sample.training is not None:
        for name in ("checkpoint_step", "snapshot_step", "learning_rate"):
            if (value := getattr(sample.training, name)) is not None:
                yield name, value


def _rates(pair: tuple[Sample, Sample]) -> Iterator[tuple[str, float]]:
    for name, found in (
        ("steps_per_second", series.step_rate(pair)),
        ("cpu", series.cpu_share(pair)),
        ("input_share", series.input_share(pair)),
    ):
        if found:
            yield name, found[-1].value
