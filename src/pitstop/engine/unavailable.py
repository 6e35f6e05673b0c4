"""How a process tells its run that it trains without snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from pitstop.engine import process_session
from pitstop.engine.session import Session
from pitstop.errors import PeerFault, UnsupportedVersion
from pitstop.events import InstrumentationUnavailable


def report_unavailable(
    socket_path: str, versions: Mapping[str, str], problem: UnsupportedVersion
) -> None:
    """Tells the supervisor why; nothing, where it does not listen to this process."""
    try:
        # A process has one session: another would take the place of its first.
        session = process_session.current() or Session.open(socket_path, dict(versions))
    except PeerFault:
        return
    session.report(InstrumentationUnavailable(problem.message, problem.remedy))
