"""The files that callbacks and the script are writing: on a resume they go on where they were.

`on_train_begin` empties a log: the part up to the cut is read before, and put back after it.
Of a log that the script opens before it trains, it is read before the script opens it.
"""

import fcntl
import glob
import io
import logging
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.made_folders import MADE, is_moved, moved, without_numbers
from pitstop.engine.trainings.present_identity import names_on_stack
from pitstop.engine.values import reachable
from pitstop.keras.callbacks import callback_nodes
from pitstop.keras.packages import kinds
from pitstop.record import Frozen

_FIELDS = re.compile(r"\{[^{}]*\}")
_MOST_BYTES = 1 << 30
_FILES = (io.TextIOWrapper, io.BufferedWriter, io.FileIO)
_Pairs = Iterator[tuple[Path, Path]]  # where a file was written, and where it is written now


class KeptFile(Frozen):
    """A file as it was at the cut.

    `attribute` of a callback holds the file object, or is empty for one of the script's;
    `size_bytes` is that of the cut, `content` what is left of it.
    """

    attribute: str
    path: Path
    size_bytes: int
    content: bytes

    @property
    def missing_bytes(self) -> int:
        return self.size_bytes - len(self.content)


def held_by_script(callbacks: list[Any]) -> list[Any]:
    """The files that the script has opened for writing before it trains."""
    if not any(map(_is_written, os.listdir("/proc/self/fd"))):  # noqa: PTH208
        return []  # nothing that had to be looked for
    named = {**callback_nodes.numbered(callbacks), **names_on_stack()}
    named.update(output=sys.stdout, log=logging.root)
    classes = {f"{name}()": type(each) for name, each in named.items()}
    found = reachable.find({**named, **classes}, _FILES, _leads_to_files)
    return [file for file in found.values() if _is_log(file) and not file.readable()]


def _is_written(descriptor: str) -> bool:
    try:
        mode = os.fstat(int(descriptor)).st_mode
        flags = fcntl.fcntl(int(descriptor), fcntl.F_GETFL)
    except OSError:
        return False
    return stat.S_ISREG(mode) and flags & os.O_ACCMODE != os.O_RDONLY


def _leads_to_files(kind: type) -> bool:
    is_writer = kind.__module__ in ("csv", "logging", "logging.handlers")
    return is_writer or issubclass(kind, kinds("callbacks.Callback"))


def _is_at_end(file: Any) -> bool:
    """Whether writes to it append: not if it is written by place, or is not a real file."""
    if not Path(file.name).is_file():
        return False
    return _appends(file) or _size_of(file) == os.lseek(file.fileno(), 0, os.SEEK_CUR)


def _appends(file: Any) -> bool:
    return bool(fcntl.fcntl(file.fileno(), fcntl.F_GETFL) & os.O_APPEND)


def _logs(callbacks: list[Any], others: list[Any]) -> list[tuple[str, Any]]:
    """All log files, each with the attribute of the callback that holds it."""
    held = [pair for each in callbacks for pair in vars(each).items() if _is_log(pair[1])]
    known = [file for _, file in held]
    mine = [each for each in others if each not in known and _is_log(each) and _is_at_end(each)]
    return held + [("", each) for each in mine]


def capture(callbacks: list[Any], others: list[Any]) -> list[dict[str, Any]]:
    return [
        {"attribute": name, "path": str(Path(file.name).absolute()), "size_bytes": _size_of(file)}
        for name, file in _logs(callbacks, others)
    ]


def _is_log(value: Any) -> bool:
    if isinstance(value, tf.io.gfile.GFile):
        # The `CSVLogger` of Keras 2 writes one; one of another file system is left alone.
        return value.mode[0] in "aw" and "://" not in str(value.name)
    return (
        isinstance(value, io.IOBase)
        and isinstance(getattr(value, "name", None), str)
        and not value.closed
        and value.writable()
        and value.seekable()
    )


def _size_of(file: Any) -> int:
    file.flush()
    is_gfile = isinstance(file, tf.io.gfile.GFile)
    if is_gfile and file.mode[0] == "w" and getattr(file, "_writable_file", None) is None:
        return 0  # the first write empties it
    path = Path(file.name)
    return path.stat().st_size if path.exists() else 0


def _is_at(file: Any, path: Path) -> bool:
    now, before = str(Path(file.name).absolute()), str(path)
    return now == before or is_moved(now, before)


def _is_at_number(file: Any, path: Path) -> bool:
    """Also a file that got the next free number as its name."""
    now = Path(file.name).absolute()
    numbered = (now.parent, without_numbers(now.name)) == (path.parent, without_numbers(path.name))
    return numbered or _is_at(file, path)


def keep(described: list[dict[str, Any]]) -> list[KeptFile]:
    """Reads the files up to the cut, before a callback can empty them."""
    return [
        KeptFile(
            each["attribute"],
            Path(each["path"]),
            each["size_bytes"],
            _head(each["path"], each["size_bytes"]),
        )
        for each in described
    ]


def _head(path: str, size_bytes: int) -> bytes:
    content = EARLIER.content(Path(path))
    if content is not None:
        return content[: max(0, size_bytes)]
    try:
        # Not a FIFO, which would wait for a writer, and no more than there is.
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as file:
            return file.read(max(0, size_bytes))
    except (OSError, ValueError):
        return b""


def put_back(callbacks: list[Any], others: list[Any], files: list[KeptFile]) -> list[KeptFile]:
    """Makes each file what it was at the cut; what comes next is appended.

    Returns those that it leaves alone: the script appends to them, and other runs may do so too.
    Of them only what this run appends again is removed. What the script has removed is put back.
    """
    logs, left = _logs(callbacks, others), []
    names = {Path(file.name).absolute() for _, file in logs}
    for kept in files:
        is_at = _is_at if kept.path in names else _is_at_number
        held = [each for name, each in logs if name == kept.attribute and is_at(each, kept.path)]
        for file in held[:1]:
            is_lost = kept.missing_bytes > 0  # such as in a log that was renamed
            is_left = is_lost or _size_of(file) >= kept.size_bytes
            if not kept.attribute and _appends(file) and is_left:
                left.append(kept)
                continue
            _refill(file, kept.content)
            for callback in callbacks:
                is_csv = isinstance(callback, kinds("callbacks.CSVLogger"))
                if is_csv and file in vars(callback).values():
                    callback.append_header = not kept.content
    return left


def _refill(file: Any, content: bytes) -> None:
    file.flush()
    if isinstance(file, tf.io.gfile.GFile):
        # Nothing has been written to it: the first write opens it.
        Path(file.name).write_bytes(b"")
        file.write(content)
        file.flush()
    else:
        os.ftruncate(file.fileno(), 0)
        os.pwrite(file.fileno(), content, 0)
        file.seek(0, io.SEEK_END)


def lengthen(others: list[Any], files: list[KeptFile]) -> None:
    """Gives files of the script what a finished training has written, where that is not there."""
    for kept in files:
        if not kept.attribute and not kept.missing_bytes:
            short = [each for each in others if _size_of(each) < kept.size_bytes]
            put_back([], short, [kept])


class Followed(Frozen):
    """What was found under names of before.

    `copied`: where the copies are; they keep the time of the last change. `left`: files that are
    too large together to be copied, where they were.
    """

    copied: tuple[Path, ...] = ()
    left: tuple[Path, ...] = ()


def follow(callbacks: list[Any], fit: dict[str, Any], most_bytes: int = _MOST_BYTES) -> Followed:
    """Copies what an earlier attempt has written to where the script writes now.

    What is there already stays; files of more than `most_bytes` together stay where they are.
    """
    folders = moved(fit.get("folders", ()), MADE.paths)
    MADE.followed.update((str(old), str(new)) for old, new in folders)
    pairs = dict.fromkeys((*_in_folders(folders), *_of_callbacks(callbacks, fit["callbacks"])))
    missing = [
        (source, target)
        for source, target in pairs
        if source.is_file()
        if not (source.is_symlink() or target.exists() or target.is_symlink())
    ]
    if sum(source.stat().st_size for source, _ in missing) > most_bytes:
        return Followed(left=tuple(source for source, _ in missing))
    for source, target in missing:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    return Followed(copied=tuple(target for _, target in missing))


def _in_folders(folders: Iterable[tuple[Path, Path]]) -> _Pairs:
    for old, new in folders:
        for path in sorted(old.rglob("*")):
            if "tfevents" not in path.name:  # TensorBoard's: each process has its own
                yield path, new / path.relative_to(old)


def _of_callbacks(callbacks: list[Any], described: list[dict[str, Any]]) -> _Pairs:
    for saved, callback in callback_nodes.matched(described, callbacks):
        for key, before in saved["attributes"].items() if callback is not None else ():
            now = vars(callback).get(key)
            if is_moved(now, before):
                yield from _pairs(Path(before), Path(now))


def _pairs(before: Path, now: Path) -> _Pairs:
    """The files of a path, or of one with fields such as `{epoch:02d}`, and their new places."""
    if "{" not in before.name:
        yield before, now
    elif before.name == now.name:
        pattern = _FIELDS.sub("*", glob.escape(before.name))
        yield from ((each, now.parent / each.name) for each in before.parent.glob(pattern))
