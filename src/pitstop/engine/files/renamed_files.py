"""Files that the script renames, links and dates: a resume undoes what the script will do again."""

import contextlib
import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

from pitstop.engine.audit_events import Frame, subscribe
from pitstop.engine.files import file_access
from pitstop.engine.files.made_folders import script_frame
from pitstop.engine.files.rewritten_files import REWRITTEN

RENAMED_FILE = "renamed.jsonl"
"""Its name in the folder of an attempt: in each line an act, as the fields of `Act`."""
_MOST_ACTS = 100_000
_PATHS = {"os.rename": 2, "os.symlink": 2, "os.remove": 1, "os.utime": 1}
"""Audit events, and how many of their arguments are paths."""


class Act(NamedTuple):
    kind: str  # a rename, a link that is made, replaced or removed, or a date
    path: str  # of a rename, the new name
    before: str  # the old name; where a link led; empty for nothing
    after: str  # the same, and of a rename, not empty if another file had the new name
    in_training: bool
    seconds: float


class RenamedFiles:
    """Is told of acts before they happen; knows those of earlier attempts."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._earlier: list[Act] = []
        self._renamed: set[tuple[str, str]] = set()  # pairs of the old and the new name
        self._own: list[Act] = []  # since others were taken back
        self._lost: set[str] = set()
        self._count = 0
        self._since_seconds = math.inf

    def watch(self, attempt_dir: Path | None) -> None:
        """Notes acts from now on, and knows those of earlier attempts."""
        if attempt_dir is None:
            return
        self._file = attempt_dir / RENAMED_FILE
        for file in attempt_dir.parent.glob(f"*/{RENAMED_FILE}"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                lines = file.read_text().splitlines()
                self._earlier += [Act(*json.loads(line)) for line in lines]
        self._earlier.sort(key=lambda act: act.seconds)
        self._renamed = {(act.before, act.path) for act in self._earlier}
        subscribe(_PATHS, self._on_event)

    def _on_event(self, event: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        names = arguments[: _PATHS[event]]
        folders = arguments[3 if event == "os.utime" else len(names) :]
        is_by_name = not any(isinstance(name, int) for name in names) and {*folders} <= {-1}
        if not is_by_name or script_frame(frame) is None:
            return
        paths = [os.path.abspath(os.fsdecode(name)) for name in names]  # noqa: PTH100
        path = paths[-1]
        if event == "os.rename":
            self._renames(paths[0], path)
        elif event == "os.utime":
            self._note("date", path, "", "")
        elif event == "os.symlink" or os.path.islink(path):  # noqa: PTH114
            after = os.fsdecode(names[0]) if event == "os.symlink" else ""
            self._note("link", path, _target(path), after)

    def _renames(self, path: str, target: str) -> None:
        if (path, target) in self._renamed:
            # A rename outside of the project, which was not taken back.
            _rename_back(target, path, math.inf)
        link, replaced = _target(path), _target(target)
        if link or replaced:
            self._note("link", target, replaced, link)
        if link:
            self._note("link", path, link, "")
        elif os.path.lexists(path):
            is_replaced = os.path.isfile(target) and not replaced  # noqa: PTH113
            self._note("rename", target, path, "replaced" * is_replaced)

    def _note(self, kind: str, path: str, before: str, after: str, *, is_set: bool = False) -> None:
        self.writes(path)
        act = Act(kind, path, before, after, is_set or REWRITTEN.trains, time.time())
        self._own.append(act)
        self._count += 1
        if self._file is not None and self._count <= _MOST_ACTS:
            with contextlib.suppress(OSError), self._file.open("a") as file:
                file.write(json.dumps(act) + "\n")

    def take_back(self, since_seconds: float, *, of_training: bool = True) -> None:
        """Undoes what earlier attempts did since then; renames in a training if `of_training`."""
        self._since_seconds = since_seconds
        self._take_back(self._earlier, of_training)

    def take_back_own(self) -> None:
        """Undoes what this attempt did since then, in callbacks that were called once more."""
        self._take_back(self._own, of_training=True)

    def _take_back(self, acts: list[Act], of_training: bool) -> None:
        later = [act for act in acts if act.seconds > self._since_seconds]
        renames = [act for act in later if act.kind == "rename"]
        # A later training may have used the name again.
        first = {act.before: act for act in reversed(renames) if not act.in_training}
        for act in reversed(renames) if of_training else first.values():
            is_near = all(map(file_access.is_of_project, (act.path, act.before)))
            if is_near:
                _rename_back(act.path, act.before, self._since_seconds, merges=not of_training)
            if act.after or not is_near:
                self._lost.add(act.path)
        self._set_links([act for act in acts if act.kind == "link"])
        # What was written to such a file is not known from its date.
        dated = {act.path for act in acts if act.kind == "date" and act.in_training}
        self._lost |= dated & {act.path for act in [*later, *self._own]}
        self._own = []

    def _set_links(self, acts: list[Act]) -> None:
        of_path: dict[str, list[Act]] = {}
        for act in acts:
            of_path.setdefault(act.path, []).append(act)
        for path, own in of_path.items():
            later = [act.before for act in own if act.seconds > self._since_seconds]
            if later or any(act.in_training for act in own):
                self._set_link(path, later[0] if later else own[-1].after)

    def _set_link(self, path: str, wanted: str) -> None:
        now = _target(path)
        if now == wanted:
            return
        try:
            _link(path, wanted)
        except (OSError, ValueError):
            self._lost.add(path)
        else:
            self._note("link", path, now, wanted, is_set=True)

    def is_lost(self, path: str) -> bool:
        """Whether another file has taken the place of this one after the restored state."""
        return bool(self._lost) and os.path.abspath(path) in self._lost  # noqa: PTH100

    def writes(self, path: str) -> None:
        if self._lost:
            self._lost.discard(os.path.abspath(path))  # noqa: PTH100


def _rename_back(path: str, before: str, since_seconds: float, *, merges: bool = False) -> None:
    is_folder = os.path.isdir(path)  # noqa: PTH112
    with contextlib.suppress(OSError):
        if not os.path.lexists(before):
            # What was written later is written again, and renamed again.
            if is_folder or os.lstat(path).st_mtime <= since_seconds:
                os.rename(path, before)  # noqa: PTH104
        elif is_folder and merges:
            _merge(Path(path), Path(before))


def _merge(folder: Path, into: Path) -> None:
    """Moves the files of a folder into one that was made again."""
    for file in [*filter(Path.is_file, folder.rglob("*"))]:
        target = into / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
    shutil.rmtree(folder)


def _target(path: str) -> str:
    return os.readlink(path) if os.path.islink(path) else ""  # noqa: PTH114, PTH115


def _link(path: str, target: str) -> None:
    # The record of a hostile run could lead a link anywhere.
    there = os.path.join(os.path.dirname(path), target)  # noqa: PTH118, PTH120
    if not all(map(file_access.is_of_project, (path, os.path.normpath(there)))) and target:
        raise ValueError(f"{path} leads elsewhere")
    if os.path.islink(path):  # noqa: PTH114
        os.unlink(path)  # noqa: PTH108
    if target:
        os.symlink(target, path)  # noqa: PTH211


RENAMED = RenamedFiles()  # of this process
