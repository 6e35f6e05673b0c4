"""The wait between two attempts, with signals that are played to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from pitstop.cluster.cluster_link import ClusterLink
from pitstop.cluster.messages import Beat
from pitstop.cluster.roster import SUSPENDED
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.restarts.restart_wait import RestartWait
from pitstop.supervisor.status import Status
from pitstop.supervisor.stops import signals
from pitstop.supervisor.stops.signals import Action, ReceivedSignal, SignalQueue
from pitstop.supervisor.stops.stop_sources import StopSources


class PlayedSignals:
    """Each look finds the next of them."""

    def __init__(self, *coming: ReceivedSignal) -> None:
        self._coming = list(coming)
        self._always_readable, self._sink = os.pipe()
        os.write(self._sink, b"\0")

    def fileno(self) -> int:
        return self._always_readable

    def take(self) -> Iterator[ReceivedSignal]:
        if self._coming:
            yield self._coming.pop(0)

    def close(self) -> None:
        os.close(self._always_readable)
        os.close(self._sink)


class SeenCluster(ClusterLink):
    """Keeps what the members are told at once."""

    def __init__(self, seen: list[Beat | str]) -> None:
        super().__init__({})
        self._seen = seen

    def beat_now(self, beat: Beat) -> None:
        self._seen.append(beat)


def test_the_members_are_told_of_a_suspension_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Beat | str] = []
    monkeypatch.setattr(signals, "suspend_self", lambda: seen.append("suspended"))
    suspend = ReceivedSignal(signal.SIGTSTP, None, None, from_terminal=True)
    stop = ReceivedSignal(signal.SIGINT, None, None, from_terminal=True, action=Action.STOP)
    sources = StopSources(tmp_path / "stop", None)
    with (
        closing(PlayedSignals(suspend, stop)) as coming,
        closing(ControlSocket.open("test")) as control,
    ):
        queue, cluster = cast(SignalQueue, coming), SeenCluster(seen)
        wait = RestartWait(queue, control, sources, Status(""), 0.0, cluster)
        assert wait.run(30.0) is not None
    assert [each.state if isinstance(each, Beat) else each for each in seen] == [
        SUSPENDED,
        "suspended",
    ]
