"""Files that an earlier attempt wrote while it trained, and that the script opens now.

Before a training, the script then resumes by itself. In a restored training, it may read what later
steps have written, which are computed again now. Or it has emptied what earlier steps have written.
"""

import contextlib
import fnmatch
import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pitstop.engine.audit_events import Frame, subscribe
from pitstop.engine.files import file_access, path_record
from pitstop.engine.files.appended_files import APPENDED, APPENDING
from pitstop.engine.files.file_looks import FileLooks
from pitstop.engine.files.made_folders import alike, script_frame
from pitstop.engine.files.output_files import WEIGHTS
from pitstop.engine.files.renamed_files import RENAMED
from pitstop.engine.files.rewritten_files import OF_DATABASES, REWRITTEN

_MOST_FILES = 4096
_MOST_INPUTS = 256
_LARGEST_INPUT_BYTES = 1 << 20
OWN_RESUME = "the script resumes by itself from files of an earlier attempt ({}); Pitstop does not"
_MOST_KEPT_BYTES = 1 << 25
_OF_PROCESSES = (*OF_DATABASES, ".lockfile")  # such as that of `Dataset.cache(FILE)`
_BEHIND = "an earlier attempt wrote to after the restored state"
_LEFT = "an earlier attempt has left, of which no state was saved"
_UNDER_ANOTHER_NAME = "an earlier attempt has made already, as {}"
_BEGUN_ANEW = "it has overwritten: what the training had written there is lost"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND
_REPLACING = {"os.rename": 1, "os.remove": 0, "shutil.rmtree": 0}
"""Audit events by which a file loses its content, and which argument is its path."""
_NO_FOLDER = (-1, None)  # of a path that is not below an open folder
_Doubt = Callable[[str], None]  # is told why a training is not exact


class ReadBack(NamedTuple):
    """What the script has read back, as paths: weights, and any other file; empty for nothing."""

    weights: str = ""
    other: str = ""

    @property
    def own_resume(self) -> str:
        """Why Pitstop does not resume: the script has restored weights by itself; else empty."""
        return OWN_RESUME.format(self.weights) if self.weights else ""


class BegunAnew(NamedTuple):
    """A file of an earlier attempt that this one has emptied, replaced or removed."""

    changed_seconds: float  # when it was changed last, before that
    content: str  # a digest of what was in it


class EarlierFiles:
    """Notes the files that are opened before a training, and in a restored training."""

    def __init__(self) -> None:
        self.looks = FileLooks(self._looked_at, self._looked_for)
        self._started_seconds = time.time()  # of this attempt
        self._listening = False  # until the first training begins
        # By path, when it had been changed last before: of files that the script has read, of
        # databases of SQLite that were opened, and of files that this process has written to.
        self._read: dict[str, float] = {}
        self._looked: dict[str, float] = {}
        self._databases: dict[str, float] = {}
        self._continued: dict[str, float] = {}
        self._own_databases: set[str] = set()  # those that the script itself has opened
        self._begun_anew: dict[str, BegunAnew] = {}
        self._contents: dict[str, bytes] = {}  # see `content`
        self._began_seconds = math.inf  # see `watch`; so is the next
        self._since_seconds = math.inf
        self._doubt: _Doubt | None = None  # called for the first such file

    def _hook(self) -> None:
        subscribe(("open", "sqlite3.connect"), self._on_event)
        subscribe(_REPLACING, self._on_replaced)
        subscribe(("os.link", "os.symlink"), self._on_linked)

    def _on_event(self, event: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        path, flags = arguments[0], arguments[2] if event == "open" else 0
        if not isinstance(path, str | bytes | os.PathLike) or file_access.is_ignored(frame):
            return
        path = os.fsdecode(path)
        if not flags & os.O_TRUNC and self._is_given_back(path):
            return
        if flags & (os.O_TRUNC | _WRITING):
            self._writes(path, flags, frame)
        if flags & os.O_TRUNC:
            self.note_begun_anew(path)
            return
        if flags & APPENDING == APPENDING and APPENDED.repeats(path):
            return
        if flags & _WRITING:
            self._note_written(path)
        if event == "sqlite3.connect":
            self._note_database(path, frame)
        elif self._listening or self._doubt:
            self._note_opened(path, flags, frame)

    def _note_opened(self, path: str, flags: int, frame: Frame) -> None:
        if os.path.isdir(path):  # noqa: PTH112
            # `shutil.rmtree` opens folders.
            return
        if not flags & (os.O_WRONLY | os.O_APPEND):
            self._note_read(path)
        if self._is_other(path) and file_access.is_opened_by_script(frame):
            self._tell(path)

    def _on_replaced(self, event: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        path = arguments[_REPLACING[event]]
        if isinstance(path, int) or arguments[-1] not in _NO_FOLDER:
            return
        if event == "os.rename":
            source = os.fsdecode(arguments[0])
            self._is_given_back(source)
            if self._listening:
                self.removes(source)
            self.note_begun_anew(os.fsdecode(path))
            if script_frame(frame) and not os.path.islink(source):  # noqa: PTH114
                REWRITTEN.note(os.fsdecode(path))
            return
        self.removes(path)
        if script_frame(frame):
            is_folder = event == "shutil.rmtree"
            path_record.removes(os.fsdecode(path), self._since_seconds, is_folder=is_folder)

    def removes(self, path: str | bytes | os.PathLike[str]) -> None:
        """A file, or all that is in a folder, is about to be removed."""
        files = [Path(os.fsdecode(path))]
        if files[0].is_dir() and not files[0].is_symlink():
            files = [*islice(filter(Path.is_file, files[0].rglob("*")), _MOST_FILES)]
        for file in files:
            self._keep_content(str(file))
            self.note_begun_anew(str(file))

    def _writes(self, path: str, flags: int, frame: Frame) -> None:
        is_by_script = script_frame(frame) is not None
        # In a training also by a library that a callback calls.
        is_noted = is_by_script or (REWRITTEN.trains and file_access.is_opened_by_script(frame))
        if is_noted and flags & APPENDING != APPENDING:
            REWRITTEN.note(path)
            if self._doubt is not None and not os.path.lexists(path):
                self._makes(path, lambda each: self.is_left(each, self._since_seconds))
        elif path.endswith(WEIGHTS):
            REWRITTEN.note_weights(path)
        if not is_by_script:
            return
        self._keep_content(path)
        if flags & os.O_EXCL:
            path_record.creates(path, self._since_seconds)

    def _makes(self, path: str, is_made: Callable[[str], bool]) -> None:
        """Tells a new file whose name has the time or chance in it, if one like it is made."""
        other = next(filter(is_made, alike(path)), "") if self._doubt else ""
        if other:
            self._tell(path, _UNDER_ANOTHER_NAME.format(os.path.basename(other)))  # noqa: PTH119

    def _on_linked(self, _: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        if arguments[-1] in _NO_FOLDER and script_frame(frame):
            path_record.creates(os.fsdecode(arguments[1]), self._since_seconds)

    def note(self, path: str, *, is_only_read: bool = True) -> None:
        if is_only_read:
            self._note_read(path)
        else:
            self._note_written(path)
        if self._is_other(path):
            self._tell(path)

    def _is_other(self, path: str) -> bool:
        is_changed = self._is_changed(file_access.changed_seconds(path), path)
        return is_changed or self._lacks_content(path) or RENAMED.is_lost(path)

    # -- before a training -----------------------------------------------------------------

    def listen(self) -> None:
        self._started_seconds = time.time()
        self._listening = True
        self._hook()

    def _note_read(self, path: str) -> None:
        if not self._listening or len(self._read) >= _MOST_FILES or file_access.is_code(path):
            return
        changed_seconds = file_access.changed_seconds(path)
        # This process may read what it wrote itself; `shutil.rmtree` opens folders.
        is_earlier = 0 < changed_seconds < self._started_seconds
        if is_earlier and not Path(path).is_dir():
            self._read[str(Path(path).absolute())] = changed_seconds

    def inputs(self) -> dict[str, str]:
        """SHA-256 of the small files that the script has read so far, by path."""
        found = {}
        for path in islice(self._read, _MOST_INPUTS):
            content, size_bytes = file_access.read(path, _LARGEST_INPUT_BYTES)
            if size_bytes == len(content):
                found[path] = hashlib.sha256(content).hexdigest()
        return found

    def _note_written(self, path: str) -> None:
        changed_seconds = file_access.changed_seconds(path)
        if changed_seconds and len(self._continued) < _MOST_FILES and not file_access.is_code(path):
            self._continued.setdefault(os.path.abspath(path), changed_seconds)  # noqa: PTH100

    def note_begun_anew(self, path: str) -> None:
        path = os.path.abspath(path)  # noqa: PTH100
        RENAMED.writes(path)
        if self._doubt is not None:
            self._begun_anew.pop(path, None)
            return
        is_known = path in self._begun_anew or file_access.is_code(path)
        if is_known or len(self._begun_anew) >= _MOST_FILES:
            return
        changed_seconds = file_access.changed_seconds(path)
        if 0 < changed_seconds < self._started_seconds:
            self._begun_anew[path] = BegunAnew(changed_seconds, file_access.digest_of(path))

    def _lacks_content(self, path: str) -> bool:
        anew = self._begun_anew.get(os.path.abspath(path))  # noqa: PTH100
        if self._doubt is None or anew is None or anew.changed_seconds < self._began_seconds:
            return False
        return file_access.digest_of(path) != anew.content

    def _keep_content(self, path: str) -> None:
        """What the earlier attempts have left in a file that the script is about to write to."""
        path = os.path.abspath(path)  # noqa: PTH100
        is_earlier = 0 < file_access.changed_seconds(path) < self._started_seconds
        # A link is put back as a link.
        is_left = is_earlier and not file_access.is_code(path) and not Path(path).is_symlink()
        if is_left and not REWRITTEN.trains and path not in self._contents:
            left_bytes = _MOST_KEPT_BYTES - sum(map(len, self._contents.values()))
            if 0 <= file_access.read(path, 0)[1] <= left_bytes:
                self._contents[path] = file_access.read(path, left_bytes)[0]

    def content(self, path: Path) -> bytes | None:
        """What was in a file before this attempt has written to it; None where nobody knows."""
        return self._contents.get(str(path))

    def put_back(self, path: Path) -> None:
        RENAMED.writes(str(path))
        self._begun_anew.pop(os.path.abspath(path), None)  # noqa: PTH100
        self._continued.pop(os.path.abspath(path), None)  # noqa: PTH100
        APPENDED.put_back(os.path.realpath(path))

    def lengthen(self, path: str, size_bytes: int) -> None:
        """Gives a file that the script has begun anew what the training had appended to it."""
        kept = self._contents.get(path, b"")[:size_bytes]
        now, now_bytes = file_access.read(path, size_bytes)
        if now_bytes < len(kept) == size_bytes and kept.startswith(now):
            with contextlib.suppress(OSError):
                file_access.replace_end(path, len(now), kept[len(now) :])
                self.put_back(Path(path))

    def put_back_removed(self, since_seconds: float, until_seconds: float = math.inf) -> None:
        """Makes files again that the training had written then, and the script has removed.

        Also weights that were written later: without them, a script that loads them would fail.
        """
        for path, anew in list(self._begun_anew.items()):
            content = self._contents.get(path)
            latest_seconds = math.inf if path.endswith(WEIGHTS) else until_seconds
            is_of_training = since_seconds <= anew.changed_seconds <= latest_seconds
            if content is None or not is_of_training or path.endswith(_OF_PROCESSES):
                continue
            # What is there again stays; what cannot be made is told when the script looks for it.
            with contextlib.suppress(OSError):
                file_access.make(path, content, anew.changed_seconds)
                del self._begun_anew[path]

    def _note_database(self, path: str, frame: Frame) -> None:
        if REWRITTEN.trains and script_frame(frame):
            REWRITTEN.note(path)
        if not (self._listening or self._doubt):
            return
        if self._listening:
            anew = self._begun_anew.get(os.path.abspath(path))  # noqa: PTH100
            changed_seconds = anew.changed_seconds if anew else file_access.database_changed(path)
            self._databases.setdefault(path, changed_seconds)
            if script_frame(frame):
                self._own_databases.add(path)
        self.note(path)

    def read_back(self, attempt_dir: Path, began_seconds: float) -> ReadBack:
        """Files that the script has read and an earlier training wrote; ends the listening."""
        self._listening = False
        if self._doubt is None:
            self.looks.end()
        found = self.read_ahead(attempt_dir, began_seconds)
        weights = [path for path in found if path.endswith(WEIGHTS)]
        return ReadBack(next(iter(weights), ""), next(iter(found), ""))

    def read_ahead(
        self, attempt_dir: Path, since_seconds: float, until_seconds: float = math.inf
    ) -> list[str]:
        """Files that the script has read, and that an earlier attempt had written in that time."""
        return file_access.written_within(self._read, attempt_dir, since_seconds, until_seconds)

    def looked_ahead(
        self, attempt_dir: Path, since_seconds: float, until_seconds: float
    ) -> list[str]:
        """The same for files that the script has looked for and found, and not written itself."""
        own = self._continued.keys() | self._begun_anew.keys()
        looked = {path: self._looked[path] for path in self._looked if path not in own}
        return file_access.written_within(looked, attempt_dir, since_seconds, until_seconds)

    # -- in a restored training --------------------------------------------------------------

    def watch(self, since_seconds: float, doubt: _Doubt, began_seconds: float = math.inf) -> None:
        """Reports the first file that is opened and was changed since then; undoes renames.

        Also a file that was written since the run began to train, and that the script has emptied.
        """
        self._since_seconds, self._doubt = since_seconds, doubt
        self._began_seconds = began_seconds
        RENAMED.take_back(since_seconds, of_training=began_seconds < math.inf)
        self._hook()
        self.looks.begin()
        for path, changed_seconds in self._databases.items():
            is_anew = path in self._own_databases and began_seconds <= changed_seconds
            if is_anew and file_access.database_changed(path) != changed_seconds:
                self._tell(path, _BEGUN_ANEW)
            elif self._is_changed(changed_seconds):
                self._tell(path)

    def give_back(self, contents: Mapping[str, bytes]) -> None:
        """Small files get the content of the restored state when the script opens them."""
        # The first callbacks of the training, and of the epoch, were called again.
        RENAMED.take_back_own()
        for path in REWRITTEN.written - contents.keys() - self._continued.keys():
            if path not in self._begun_anew:
                self._makes(path, contents.__contains__)
        # A file that the script read before the training keeps what the earlier attempt left in it.
        known = {*self._read, *map(os.path.abspath, self._databases)}
        for path in REWRITTEN.keep({path: contents[path] for path in contents.keys() - known}):
            self._is_given_back(path)

    def _is_given_back(self, path: str) -> bool:
        is_given = REWRITTEN.put_back(path)
        if is_given:
            self.put_back(Path(path))
        return is_given

    def leave(self) -> None:
        self._doubt, self._since_seconds = None, math.inf
        REWRITTEN.leave()
        self.looks.end()

    def _looked_at(self, path: str, changed_seconds: float) -> None:
        if self._listening and len(self._looked) < _MOST_FILES and not file_access.is_code(path):
            path = os.path.abspath(path)  # noqa: PTH100
            if 0 < changed_seconds < self._started_seconds:
                self._looked.setdefault(path, changed_seconds)
        if self._doubt is None:
            return
        if (changed_seconds and self._is_given_back(path)) or self.looks.is_for_header(path):
            return
        is_lost = (not changed_seconds and self._lacks_content(path)) or RENAMED.is_lost(path)
        if is_lost or self._is_changed(changed_seconds, path) or APPENDED.is_ahead(path):
            self._tell(path)

    def _looked_for(self, pattern: str) -> None:
        pattern = os.path.abspath(pattern)  # noqa: PTH100
        for path in fnmatch.filter(self._begun_anew, pattern):
            if os.path.dirname(path) == os.path.dirname(pattern) or "**" in pattern:  # noqa: PTH120
                self._looked_at(path, file_access.changed_seconds(path))

    def is_left(self, path: str, since_seconds: float) -> bool:
        """Whether an earlier attempt was the last to change a file, and did so since then."""
        return since_seconds <= file_access.changed_seconds(path) < self._started_seconds

    def _is_changed(self, changed_seconds: float, path: str = "") -> bool:
        # Files that this process has begun are its own, not those that it has continued.
        if path and self._continued:
            before = self._continued.get(os.path.abspath(path), changed_seconds)  # noqa: PTH100
            changed_seconds = min(before, changed_seconds)
        return (
            self._doubt is not None
            and self._since_seconds < changed_seconds < self._started_seconds
        )

    def _tell(self, path: str, words: str = "") -> None:
        doubt, is_anew = self._doubt, self._lacks_content(path)
        behind = _LEFT if self._since_seconds == self._began_seconds else _BEHIND
        words = words or (_BEGUN_ANEW if is_anew else behind)
        self._doubt = None
        self.looks.end()
        if doubt is not None:
            doubt(f"the script continues with {Path(path).absolute()}, which {words}")


EARLIER = EarlierFiles()  # of this process
