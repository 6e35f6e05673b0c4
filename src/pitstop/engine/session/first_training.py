"""How the run's first training begins, compared with the attempt that began the run.

A script that keeps its prepared data in a file reads them in its next attempt, and neither draws
nor computes what it needs for them. What follows differs then, where no state of it is restored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop import journal
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.randomness.script_random import in_libraries
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_recorder import began_seconds, started_seconds
from pitstop.engine.trainings.identity import Identity
from pitstop.engine.values.described import describe, digest_of_text
from pitstop.events import FitStarted
from pitstop.store.run_folder import JOURNAL_FILE

_CODE = "code"
_DRAWN, _GIVEN, _HELD = "random numbers of ", "", "value of "
_MOST_TOLD = 3
_OTHER = (
    "before its first training, the script was not where it was in the attempt that began this "
    "run, of which no state was saved ({}); has that attempt prepared {} for it?"
)
_SOME_FILE = "data"
_NEVER_TRAINED = (
    "an earlier attempt prepared {} and ended before its first training: what else it would have "
    "drawn and computed for it is unknown"
)
_NOT_READ = (
    "the script has not read its shuffled datasets as often as before this training began, perhaps "
    "because an earlier attempt has kept what it read; their orders may be others"
)
_NOT_MADE = (
    "the script reads {}, which an earlier attempt prepared, and {} has another value than when "
    "this training began"
)


def digests(identity: Identity, streams: Mapping[str, Any]) -> dict[str, str]:
    """Of the script's code, its random streams and variables, what it gives and what it holds."""
    of_libraries = in_libraries()
    given = {**identity.random, **identity.data, "shuffles": identity.shuffles}
    own = {name: each for name, each in streams.items() if name not in of_libraries}
    return {
        _CODE: identity.program,
        **{_DRAWN + name: digest_of_text(describe(each)) for name, each in own.items()},
        **{_GIVEN + name: each for name, each in given.items()},
        **{_HELD + name: each for name, each in identity.names.items()},
    }


def deviation(session: Session, now: Mapping[str, str]) -> str:
    """Why it does not begin as it did where nothing was saved; else empty."""
    if not now or session.kernel or session.trainings.newest is not None:
        return ""
    attempt_dir = session.attempt_dir
    first = journal.first_of(attempt_dir.parent.parent / JOURNAL_FILE, FitStarted)
    if prepared := _prepared_without_training(attempt_dir, first.attempt if first else None):
        return _NEVER_TRAINED.format(prepared)
    before = first.event.began_with if first and isinstance(first.event, FitStarted) else {}
    moved = _moved(before, now)
    files = EARLIER.read_ahead(attempt_dir, started_seconds(attempt_dir)) if moved else []
    if _CODE in moved:
        # What it gives and holds was changed with it, and what it draws, too, if it reads no file.
        moved = [name for name in moved if name.startswith(_DRAWN) and files]
    elif not files:
        # A value may be of the attempt, such as its process id.
        moved = [name for name in moved if not name.startswith(_HELD)]
    told = ", ".join(moved[:_MOST_TOLD])
    return _OTHER.format(told, next(iter(files), _SOME_FILE)) if moved else ""


def _prepared_without_training(attempt_dir: Path, first_to_train: int | None) -> str:
    """A file of attempts before the first one that trained, which the script uses; else empty."""
    # What this attempt writes is not counted, nor what its other processes do.
    attempt = first_to_train or int(attempt_dir.name)
    times = started_seconds(attempt_dir), started_seconds(attempt_dir, attempt)
    files = EARLIER.read_ahead(attempt_dir, *times) + EARLIER.looked_ahead(attempt_dir, *times)
    return next(iter(files), "")


def not_made_again(session: Session, before: Identity, now: Identity) -> str:
    """What was made before a training that goes on, and is not made again; else empty."""
    if session.kernel:
        return ""
    if before.shuffles and before.shuffles != now.shuffles:
        return _NOT_READ
    moved = _moved(before.names, now.names)
    if not moved:
        return ""
    attempt_dir = session.attempt_dir
    times = started_seconds(attempt_dir), began_seconds(attempt_dir)
    files = EARLIER.read_ahead(attempt_dir, *times)
    return _NOT_MADE.format(files[0], moved[0]) if files else ""


def _moved(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
