"""The script's own `tf.train` checkpoints, and what a repetition of its loop sees of them.

A script that looks for its newest checkpoint before the loop, and finds none, trains from the
start. It does so again only if it finds none again, although it has saved some since then.
Checkpoints that were saved after the earlier attempt are of somebody else, and are not hidden.
"""

import atexit
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pitstop import journal
from pitstop.cluster.spec import members
from pitstop.engine.fence import FENCE
from pitstop.engine.files.file_access import changed_seconds
from pitstop.engine.session.session import Session
from pitstop.engine.trainings.present_identity import own_sources, process_name
from pitstop.errors import ResumeRefused
from pitstop.events import CheckpointsSought, Notice, TrainerConnected
from pitstop.exit_codes import EXIT_REFUSED
from pitstop.link.settings import ENV_STACKS
from pitstop.masking import masked_tree
from pitstop.store.run_folder import JOURNAL_FILE
from pitstop.tensorflow.sessions.session_course import is_drawn

_STATE_FILE = "checkpoint"  # in which `tf.train` lists the checkpoints of a folder
_SLACK_SECONDS = 5.0
_HIDDEN = (
    "the script's own checkpoints, such as those in {}, are hidden from it while Pitstop repeats "
    "its loop: the loop began when there were none. They stay on disk."
)
_ANOTHER = (
    "{}. The script's own checkpoints in {} were hidden from it, so it cannot continue from them."
)
_NO_LOOP = "The script has ended without its loop"
_REMEDY = "Undo the change, or start with --new: the script then restores its own checkpoints."


class OwnCheckpoints:
    def __init__(self, open_session: Callable[[], Session | None]) -> None:
        self._open_session = open_session
        self._looks: dict[str, CheckpointsSought] = {}  # the first one at each folder
        self._looked_at: dict[str, int] = {}  # how many calls of the loop there had been
        self._asked: set[str] = set()
        self._written: set[str] = set()
        self._empty_before: frozenset[str] | None = None
        self._session: Session | None = None  # that of the loop
        self._hiding: Session | None = None
        self._pid = os.getpid()

    def asks(self, folder: str) -> None:
        """The script asks for the newest checkpoint in a folder."""
        if not is_drawn(Path(folder)):
            self._asked.add(_absolute(folder))

    def writes(self, folder: Path) -> None:
        """The script saves a checkpoint in a folder; in a repetition it only would."""
        self._written.add(_absolute(folder))

    def restores_itself(self, folder: Path) -> bool:
        """Whether the script, run again, continues from what it saves in a folder."""
        look = self._looks.get(_absolute(folder))
        return _absolute(folder) in self._asked and (look is None or look.found)

    def look(self, folder: str, look: Callable[[], Any], calls: int, *, may_hide: bool) -> Any:
        """What there is in a folder, from `look`; None where the loop to repeat had found none.

        `calls`: of the loop, so far. Later ones may have made that folder, in another process.
        """
        path = _absolute(folder)
        is_first = self._looked_at.setdefault(path, calls) == calls
        may_hide = may_hide and is_first and path not in self._written
        if may_hide and path in self._empty():
            self._note(path, found=False)
            self._hide(path)
            return None
        state = look()
        self._note(path, found=state is not None)
        return state

    def _note(self, path: str, *, found: bool) -> None:
        if path not in self._looks:
            self._looks[path] = CheckpointsSought(path, found)
            if self._session is not None:
                self._session.report(self._looks[path])

    def _hide(self, path: str) -> None:
        if self._hiding is None and (session := self._open_session()) is not None:
            self._hiding = session
            session.report(Notice("own_checkpoints_hidden", _HIDDEN.format(path)))

    def loop_begins(self, session: Session, why_another: str) -> None:
        """Raises `Refused` where checkpoints were hidden, and the loop is not the saved one."""
        atexit.unregister(self._script_ended)
        if self._hiding is not None and why_another and (hidden := self._hidden()):
            reason = why_another[0].upper() + why_another[1:]
            session.refuse(ResumeRefused(_ANOTHER.format(reason, hidden), _REMEDY))
        self._session = session
        for each in self._looks.values():
            session.report(each)

    def _hidden(self) -> str:
        return ", ".join(sorted(self._asked & self._empty()))

    def _empty(self) -> frozenset[str]:
        """Folders in which the saved loop had found no checkpoint; none if there is no such."""
        if self._empty_before is None:
            self._empty_before = frozenset()
            try:
                self._empty_before = self._found_empty()
            except Exception as error:  # noqa: BLE001 - ours: the script's own resume applies
                FENCE.note("the look for the script's own checkpoints", error)
            if self._empty_before:
                atexit.register(self._script_ended)
        return self._empty_before

    def _found_empty(self) -> frozenset[str]:
        stacks_path = os.environ.get(ENV_STACKS)
        if not stacks_path or process_name():
            return frozenset()
        run_dir = Path(stacks_path).parents[2]
        by_attempt: dict[int, list[journal.Entry]] = {}
        for each in journal.read(run_dir / JOURNAL_FILE).entries:
            by_attempt.setdefault(each.attempt, []).append(each)
        newest: dict[str, tuple[bool, int]] = {}
        for attempt, entries in by_attempt.items():
            for sought in journal.events_of(entries, CheckpointsSought):
                newest[sought.folder] = sought.found, attempt
        sources = own_sources() if newest else {}
        empty = frozenset(
            folder
            for folder, (found, attempt) in newest.items()
            if not found and _is_of_attempt(run_dir, by_attempt[attempt], folder, sources)
        )
        session = self._open_session() if empty else None
        return empty if session is not None and session.trainings.has_loop else frozenset()

    def _script_ended(self) -> None:
        is_failure = getattr(sys, "last_value", None) is not None
        if os.getpid() != self._pid or is_failure or self._hiding is None or not self._hidden():
            return
        message = _ANOTHER.format(_NO_LOOP, self._hidden())
        self._hiding.report(Notice("resume_refused", message, _REMEDY))
        os._exit(EXIT_REFUSED)


def _is_same_script(before: TrainerConnected | None, sources: Mapping[str, str]) -> bool:
    """Whether this process runs the command of that trainer, and the same files."""
    if before is None or before.argv != masked_tree(sys.argv):
        return False  # such as a part of the script that only evaluates
    return all(before.sources.get(path) == digest for path, digest in sources.items())


def _is_of_attempt(
    run_dir: Path, entries: Sequence[journal.Entry], folder: str, sources: Mapping[str, str]
) -> bool:
    """Whether what is in a folder was saved in that attempt, and by this script."""
    attempt_dir = run_dir / "attempts" / str(entries[0].attempt)
    if not _is_same_script(journal.last_of(entries, TrainerConnected), sources):
        return False
    if members(os.environ) > 1:
        return True  # all must find the same, and another one may have saved it later
    return changed_seconds(str(Path(folder, _STATE_FILE))) <= _end_seconds(attempt_dir, entries)


def _end_seconds(attempt_dir: Path, entries: Sequence[journal.Entry]) -> float:
    """Until when the attempt can have saved a checkpoint: a later one is of somebody else."""
    written = [each.stat().st_mtime for each in attempt_dir.glob("flight.*")]
    return max(entries[-1].time_seconds, *written, 0.0) + _SLACK_SECONDS


def _absolute(folder: str | Path) -> str:
    return os.path.abspath(folder)  # noqa: PTH100
