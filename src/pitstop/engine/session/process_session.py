"""The session of this process, opened once, when it is needed first."""

import atexit
import math
import os
from collections.abc import Mapping

from pitstop.engine.connection import stacks
from pitstop.engine.fence import FENCE
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.leaving import Refused
from pitstop.engine.library_imports import IMPORTS
from pitstop.engine.session.exit_watch import ExitWatch, WorkerWatch
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.session.witness import CallbackOf, Witness
from pitstop.errors import PeerFault, UnsupportedVersion
from pitstop.events import Event, ExitCalled, InstrumentationUnavailable, LevelKnown
from pitstop.link.settings import ENV_STACKS, STACKS_FILE

# By process: a forked data worker inherits the entry, but the session is not its own.
_sessions: dict[int, Session] = {}
_unavailable: dict[int, Session] = {}
"""Processes that have reported that they cannot be watched; they may train in another way."""
_witnesses: dict[int, Witness] = {}


def current() -> Session | None:
    return _sessions.get(os.getpid())


def open_session(
    socket_path: str, versions: dict[str, str], callback_of: CallbackOf = lambda _: ""
) -> Session:
    """The session of this process, opened if need be; raises as `Session.open` does."""
    session = current()
    if session is None:
        reported = _unavailable.pop(os.getpid(), None)
        session = _sessions[os.getpid()] = reported or Session.open(socket_path, versions)
        if session.refusal:
            raise Refused
        FENCE.tell(session)
        if session.settings.spare:
            IMPORTS.write(session.attempt_dir)
        if not os.environ.get(ENV_STACKS):
            stacks.answer_in(session.attempt_dir / STACKS_FILE)
        APPENDED.is_resumed = math.isfinite(began_seconds(session.attempt_dir))
        _watch(session, callback_of)
    return session


def _end_files() -> None:
    if (session := current()) is not None and (reason := APPENDED.leave()):
        session.report(LevelKnown("not_exact", reason))


def leave_session() -> None:
    session = _sessions.pop(os.getpid(), None)
    if session is not None:
        session.leave()


def _watch(session: Session, callback_of: CallbackOf) -> None:
    witness = _witnesses.get(os.getpid())
    if witness is not None:
        witness.beacon = session.beacon
        return
    WorkerWatch(_report).install()
    witness = _witnesses[os.getpid()] = Witness(_report, session.beacon, callback_of)
    witness.install()
    ExitWatch(_report, callback_of).install()
    atexit.register(_end_files)


def _report(event: Event) -> None:
    session = current()
    if session is not None:
        session.exit_called |= isinstance(event, ExitCalled)
        session.report(event)


def report_unavailable(
    socket_path: str, versions: Mapping[str, str], problem: UnsupportedVersion
) -> None:
    try:
        # A process has one session: another would take the place of its first.
        session = current() or _unavailable.get(os.getpid())
        session = session or Session.open(socket_path, dict(versions))
    except PeerFault:
        return
    if current() is None:
        _unavailable[os.getpid()] = session
    session.report(InstrumentationUnavailable(problem.message, problem.remedy))
