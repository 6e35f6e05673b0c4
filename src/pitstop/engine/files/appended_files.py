"""Files that the script appends to: where it runs again from its top, it appends the same again.

What an earlier attempt has appended is in the file already, so what repeats it is removed.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.engine.audit_events import Frame, subscribe
from pitstop.engine.files import file_access

APPENDED_FILE = "appended.jsonl"
"""Its name in the folder of an attempt: a path and a number of bytes in each line."""
APPENDING = os.O_WRONLY | os.O_APPEND
_MOST_FILES = 64
_MOST_BYTES = 1 << 24
_MOST_HEADER_BYTES = 1 << 12
_APPENDED_AGAIN = (
    "the script has appended to {} again, but not what an earlier attempt appended there; "
    "what both appended is kept"
)
_READ_AHEAD = "the script reads {}, to which an earlier attempt appended after the restored state"
_SHORTER = "the script has shortened or renamed {}, to which an earlier attempt appended"


class AppendedFile:
    """A file to which this process appends, after the first `earlier_bytes` bytes."""

    def __init__(self, begun_bytes: int, earlier_bytes: int, header: bytes) -> None:
        self.header = header  # its first line
        self.earlier_bytes = earlier_bytes  # with what earlier attempts have appended
        # Up to here, this process has appended the same bytes; at first, the size before the run.
        self.repeated_bytes = begun_bytes

    @property
    def is_over(self) -> bool:
        """Whether nothing that is appended from here on can repeat an earlier attempt."""
        return self.repeated_bytes >= self.earlier_bytes

    def end(self) -> None:
        self.repeated_bytes = self.earlier_bytes


class AppendedFiles:
    def __init__(self) -> None:
        self._pid = 0
        self._record: Path | None = None
        self._begun: dict[str, int] = {}
        self._files: dict[str, AppendedFile] = {}
        self._sizes: dict[str, int] = {}  # of those of earlier attempts, when this process began
        self._doubt = ""
        self.skips = False  # the script leaves out what it had done: what it appends may be new
        self.is_resumed = False  # an earlier attempt has trained

    def watch(self, attempt_dir: Path | None) -> None:
        """Notes such files from now on; `attempt_dir` lists those of earlier attempts."""
        self._pid = os.getpid()
        if attempt_dir is not None:
            self._record = attempt_dir / APPENDED_FILE
            number = int(attempt_dir.name)
            for earlier in (attempt_dir.parent / f"{each}" for each in range(1, number)):
                for path, size_bytes in _lines(earlier / APPENDED_FILE):
                    self._begun.setdefault(path, size_bytes)
            # Another process of this attempt has repeated this part.
            for path, size_bytes in _lines(self._record):
                if path in self._begun:
                    self._begun[path] = size_bytes
        self._sizes = {path: file_access.size_bytes(path) for path in self._begun}
        subscribe(("open",), self._on_event)

    def repeats(self, path: str) -> bool:
        """Whether what is appended to a file may repeat an earlier attempt."""
        return os.path.realpath(path) in self._begun

    def is_ahead(self, path: str) -> bool:
        """Whether an earlier attempt has appended to it what this process has not yet."""
        path = os.path.realpath(path)
        if path in self._files:
            self._remove_repeated(path)
        return path in self._files and not (self._files[path].is_over or self.skips)

    def _on_event(self, _: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        path, _mode, flags = arguments
        is_append = flags & APPENDING == APPENDING
        if not (is_append or self._begun) or file_access.is_ignored(frame):
            return
        if os.getpid() != self._pid or not isinstance(path, str | bytes | os.PathLike):
            return
        path = os.path.realpath(os.fsdecode(path))
        if path in self._files and flags & os.O_TRUNC:
            self._files[path].end()
        elif path in self._files:
            # A reader finds no line twice, but maybe lines of steps that are still to be repeated.
            if self.is_ahead(path) and not is_append and file_access.is_opened_by_script(frame):
                self._doubt = self._doubt or _READ_AHEAD.format(path)
        elif is_append and file_access.is_opened_by_script(frame):
            self._note(path)
        elif path in self._begun and file_access.is_opened_by_script(frame):
            # The script reads its earlier output, or starts over: it does not repeat itself.
            del self._begun[path]

    def _note(self, path: str) -> None:
        if len(self._files) >= _MOST_FILES or file_access.is_code(path):
            return
        size_bytes = file_access.size_bytes(path)
        begun_bytes = self._begun.get(path, size_bytes)
        first, _ = file_access.read(path, _MOST_HEADER_BYTES if begun_bytes < size_bytes else 0)
        header = first[: first.find(b"\n") + 1]
        self._files[path] = AppendedFile(begun_bytes, size_bytes, header)
        if path not in self._begun:
            self._write(path, size_bytes)

    def _write(self, path: str, size_bytes: int) -> None:
        if self._record is not None:
            with contextlib.suppress(OSError), self._record.open("a") as file:
                file.write(json.dumps([path, size_bytes]) + "\n")

    # -- what is there twice -------------------------------------------------------

    def settle(self) -> str:
        """Removes what the script has appended again; returns why it could not, else empty."""
        others = (each for each in self._begun if each not in self._files)
        grown = [each for each in others if file_access.size_bytes(each) > self._sizes[each]]
        found = [*map(self._settle, self._files), *map(_APPENDED_AGAIN.format, grown)]
        doubt, self._doubt = self._doubt, ""
        return "; ".join(filter(None, (doubt, *found))) if self.is_resumed else ""

    def leave(self) -> str:
        """As `settle`, at the exit of a process; another one of the attempt may follow."""
        reason = self.settle()
        for path, file in self._files.items():
            if path in self._begun:
                self._write(path, file.repeated_bytes)
        return reason

    def capture(self) -> dict[str, int]:
        """The size of each file, in bytes."""
        return {path: file_access.size_bytes(path) for path in self._files}

    def go_on(self, sizes: Mapping[str, int]) -> str:
        """Sets files to the sizes at which the script continues; returns why not, else empty."""
        reasons = []
        for path, size_bytes in sizes.items():
            if path in self._begun and path not in self._files:
                self._note(path)
            if (file := self._files.get(path)) is not None:
                reasons.append(self._settle(path))
                most_bytes = min(size_bytes, file.earlier_bytes)
                file.repeated_bytes = max(file.repeated_bytes, most_bytes)
        return "; ".join(filter(None, reasons))

    def put_back(self, path: str) -> None:
        """Notes that other code has restored the content of a file."""
        if path in self._files:
            self._files[path].end()

    def _settle(self, path: str) -> str:
        if self._remove_repeated(path):
            return ""
        self._files[path].end()
        return _APPENDED_AGAIN.format(path)

    def _remove_repeated(self, path: str) -> bool:
        """Removes what repeats an earlier attempt; False if the script appended something else."""
        file = self._files[path]
        again = b"" if file.is_over else self._again(path, file)
        if not again:
            return True
        left_bytes = file.earlier_bytes - file.repeated_bytes
        most_bytes = min(2 * len(again) + _MOST_HEADER_BYTES, _MOST_BYTES, left_bytes)
        earlier, _ = file_access.read(path, most_bytes, file.repeated_bytes)
        # A table gets its header where the file is empty.
        for left_out in (b"", file.header) if earlier.startswith(file.header) else (b"",):
            earlier_bytes, same_bytes = same(earlier.removeprefix(left_out), again, file.header)
            if same_bytes and len(again) < _MOST_BYTES and not self.skips:
                with contextlib.suppress(OSError):
                    file_access.replace_end(path, file.earlier_bytes, again[same_bytes:])
                    file.repeated_bytes += len(left_out) + earlier_bytes
                    return True
            if same_bytes:
                return False
        return self.skips

    def _again(self, path: str, file: AppendedFile) -> bytes:
        """What this process has appended."""
        content, size_bytes = file_access.read(path, _MOST_BYTES, file.earlier_bytes)
        if size_bytes < file.earlier_bytes:
            file.end()
            self._doubt = self._doubt or _SHORTER.format(path)
        return content


APPENDED = AppendedFiles()  # of this process


def same(earlier: bytes, again: bytes, header: bytes = b"") -> tuple[int, int]:
    """How many bytes of `earlier` are repeated, and by how many bytes of `again`; else 0 and 0.

    The two numbers differ only if a clock has put more digits into one of two lines. `header`:
    the first line of the file.
    """
    common = min(len(earlier), len(again))
    if earlier[:common] == again[:common]:
        return common, common
    # Loaded where it is needed; each Python process of a run loads this module.
    from pitstop.engine.files.clock_readings import repeated  # noqa: PLC0415

    return repeated(earlier, again, header)


def _lines(file: Path) -> list[tuple[str, int]]:
    lines = file_access.read(str(file), _MOST_BYTES)[0].splitlines()
    with contextlib.suppress(ValueError, TypeError):
        return [(str(path), int(size)) for path, size in map(json.loads, lines)]
    return []
