"""What a disk may hold after a power cut at any moment of some work.

A recording file system does the work for real and notes every operation.  From
the notes a small model of a disk is replayed up to the cut.  It keeps two
versions of every file's content and of every folder's names: the one that
programs saw, and the one that was synced.  After a cut either may be found, and,
where a file system gives no order (POSIX asks for none without a sync), any
mixture of the two: single blocks of a file, single names of a folder.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pitstop.store.filesystem import Filesystem


@dataclass(frozen=True)
class Operation:
    """One operation; which fields count depends on the kind."""

    kind: str
    path: Path
    data: bytes = b""
    target: Path = Path()
    size_bytes: int = 0


class RecordingFilesystem(Filesystem):
    """The real file system, with notes of all that changes it."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._paths: dict[int, Path] = {}

    def make_dir(self, path: Path) -> None:
        super().make_dir(path)
        self.operations.append(Operation("make_dir", path))

    def create(self, path: Path) -> int:
        fd = super().create(path)
        self._paths[fd] = path
        self.operations.append(Operation("create", path))
        return fd

    def allocate(self, fd: int, size_bytes: int) -> None:
        super().allocate(fd, size_bytes)
        self.operations.append(Operation("allocate", self._paths[fd], size_bytes=size_bytes))

    def write(self, fd: int, data: memoryview) -> None:
        super().write(fd, data)
        self.operations.append(Operation("write", self._paths[fd], data=bytes(data)))

    def write_past_cache(self, fd: int, data: memoryview) -> None:
        super().write_past_cache(fd, data)
        self.operations.append(Operation("write", self._paths[fd], data=bytes(data)))

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        self.operations.append(Operation("link", source, target=target))

    def sync_file(self, fd: int) -> None:
        super().sync_file(fd)
        self.operations.append(Operation("sync_file", self._paths[fd]))

    def sync_dir(self, path: Path) -> None:
        super().sync_dir(path)
        self.operations.append(Operation("sync_dir", path))

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self.operations.append(Operation("rename", source, target=target))


BLOCK_BYTES = 64
"""What reaches the disk in one piece; small, as the files of the tests are."""


@dataclass
class _File:
    seen: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    written_bytes: int = 0

    def torn(self, chance: random.Random) -> bytes:
        """Some blocks as seen, some as synced, and one of the two sizes."""
        seen, synced = bytes(self.seen), self.synced
        if seen == synced:
            return synced
        size_bytes = len(chance.choice((seen, synced)))
        seen, synced = (each.ljust(size_bytes, b"\0")[:size_bytes] for each in (seen, synced))
        blocks = (
            chance.choice((seen, synced))[start : start + BLOCK_BYTES]
            for start in range(0, size_bytes, BLOCK_BYTES)
        )
        return b"".join(blocks)

    def put(self, data: bytes) -> None:
        self.seen[self.written_bytes : self.written_bytes + len(data)] = data
        self.written_bytes += len(data)


@dataclass
class _Folder:
    seen: dict[str, _File | _Folder] = field(default_factory=dict)
    synced: dict[str, _File | _Folder] = field(default_factory=dict)
    changes: list[dict[str, _File | _Folder | None]] = field(default_factory=list)
    """Since the last sync; None takes a name away.  A rename is one change."""

    def change(self, names: dict[str, _File | _Folder | None]) -> None:
        self.changes.append(names)
        _apply_names(self.seen, names)

    def sync(self) -> None:
        self.synced = dict(self.seen)
        self.changes = []

    def torn(self, chance: random.Random) -> dict[str, _File | _Folder]:
        """What was synced, with any of the changes since."""
        names = dict(self.synced)
        for change in self.changes:
            if chance.random() < 0.5:
                _apply_names(names, change)
        return names


def _apply_names(
    names: dict[str, _File | _Folder], change: dict[str, _File | _Folder | None]
) -> None:
    for name, entry in change.items():
        if entry is None:
            names.pop(name, None)
        else:
            names[name] = entry


@dataclass(frozen=True)
class Survival:
    """Which version survived the cut: the synced one, or the one that was seen."""

    outer_names_synced: bool
    inner_names_synced: bool
    content_synced: bool


SURVIVALS = tuple(
    Survival(outer, inner, content)
    for outer in (False, True)
    for inner in (False, True)
    for content in (False, True)
)


class CrashDisk:
    """The model of one folder with folders of files in it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = _Folder()
        for folder in sorted(path for path in root.iterdir() if path.is_dir()):
            files = {file.name: _synced_file(file.read_bytes()) for file in folder.iterdir()}
            self._top.seen[folder.name] = _Folder(dict(files), dict(files))
        self._top.synced = dict(self._top.seen)

    def replay(self, operations: Sequence[Operation]) -> None:
        """Applies operations as programs saw them."""
        for operation in operations:
            self._apply(operation)

    def restore(self, survival: Survival, target: Path) -> None:
        """Writes what survived into an empty folder."""
        outer = self._top.synced if survival.outer_names_synced else self._top.seen
        for name, folder in outer.items():
            assert isinstance(folder, _Folder)
            (target / name).mkdir()
            inner = folder.synced if survival.inner_names_synced else folder.seen
            for file_name, file in inner.items():
                assert isinstance(file, _File)
                content = file.synced if survival.content_synced else bytes(file.seen)
                (target / name / file_name).write_bytes(content)

    def restore_torn(self, chance: random.Random, target: Path) -> None:
        """Writes one of the mixtures that may have survived into an empty folder."""
        for name, folder in self._top.torn(chance).items():
            assert isinstance(folder, _Folder)
            (target / name).mkdir()
            for file_name, file in folder.torn(chance).items():
                assert isinstance(file, _File)
                (target / name / file_name).write_bytes(file.torn(chance))

    def _apply(self, operation: Operation) -> None:
        if operation.kind == "sync_dir":
            self._folder(operation.path).sync()
            return
        folder, name = self._folder(operation.path.parent), operation.path.name
        match operation.kind:
            case "make_dir":
                folder.change({name: _Folder()})
            case "create":
                folder.change({name: _File()})
            case "rename":
                assert operation.target.parent == operation.path.parent
                folder.change({name: None, operation.target.name: folder.seen[name]})
            case "link":
                target = self._folder(operation.target.parent)
                target.change({operation.target.name: folder.seen[name]})
            case _:
                self._apply_to_file(folder.seen[name], operation)

    def _apply_to_file(self, file: _File | _Folder, operation: Operation) -> None:
        assert isinstance(file, _File)
        match operation.kind:
            case "allocate":
                file.seen.extend(bytes(operation.size_bytes - len(file.seen)))
            case "write":
                file.put(operation.data)
            case "sync_file":
                file.synced = bytes(file.seen)
            case kind:
                raise ValueError(kind)

    def _folder(self, path: Path) -> _Folder:
        folder = self._top
        for part in path.relative_to(self._root).parts:
            inner = folder.seen[part]
            assert isinstance(inner, _Folder)
            folder = inner
        return folder


def cuts(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Every beginning of the work, also with only half of its last write."""
    for count in range(len(operations) + 1):
        done = list(operations[:count])
        yield done
        if done and done[-1].kind == "write":
            half = done[-1].data[: len(done[-1].data) // 2]
            yield [*done[:-1], replace(done[-1], data=half)]


def _synced_file(content: bytes) -> _File:
    return _File(bytearray(content), content, len(content))
