"""The session of this process, opened once by whoever needs it first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import FrameType

from pitstop.engine import stacks
from pitstop.engine.exit_watch import ExitWatch
from pitstop.engine.fence import FENCE
from pitstop.engine.refused import refuse_resume
from pitstop.engine.session import Session
from pitstop.engine.witness import Witness
from pitstop.engine.worker_watch import WorkerWatch
from pitstop.errors import PeerFault, ResumeRefused, UnsupportedVersion
from pitstop.events import InstrumentationUnavailable
from pitstop.link.settings import ENV_STACKS, STACKS_FILE

_AGREE = (
    "Bring back the folders that the members were saved in, or start all of them over with --new."
)

# By process: a forked data worker inherits the entry, but the session is not its own.
_sessions: dict[int, Session] = {}
_unavailable: dict[int, Session] = {}
"""Of processes that have said that they cannot be watched, and may train in another way."""


def current() -> Session | None:
    """The session of this process, None before it is opened."""
    return _sessions.get(os.getpid())


def open_session(
    socket_path: str,
    versions: dict[str, str],
    callback_of: Callable[[FrameType], str] = lambda _: "",
) -> Session:
    """The session of this process, opened if need be; from then on its end is witnessed.

    Raises:
        PeerClosed: there is no supervisor any more.
        ProtocolMismatch: the supervisor refuses this process.
    """
    session = current()
    if session is None:
        reported = _unavailable.pop(os.getpid(), None)
        session = _sessions[os.getpid()] = reported or Session.open(socket_path, versions)
        if session.refusal:
            refuse_resume(session, ResumeRefused(session.refusal, _AGREE))
        FENCE.tell(session)
        WorkerWatch(session.report).install()
        if not os.environ.get(ENV_STACKS):
            stacks.answer_in(session.attempt_dir / STACKS_FILE)
        Witness(session.report, session.beacon, callback_of).install()
        ExitWatch(session.report, callback_of).install()
    return session


def report_unavailable(
    socket_path: str, versions: Mapping[str, str], problem: UnsupportedVersion
) -> None:
    """Tells the supervisor why; nothing, where it does not listen to this process."""
    try:
        # A process has one session: another would take the place of its first.
        session = current() or _unavailable.get(os.getpid())
        session = session or Session.open(socket_path, dict(versions))
    except PeerFault:
        return
    if current() is None:
        _unavailable[os.getpid()] = session
    session.report(InstrumentationUnavailable(problem.message, problem.remedy))
