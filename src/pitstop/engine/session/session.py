"""The trainer's side of a run: the requests to it, and the state that it restores."""

import functools
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Self

from pitstop.engine.connection import supervisor_connection
from pitstop.engine.connection.request import reason_of
from pitstop.engine.connection.supervisor_connection import SupervisorConnection
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.leaving import Refused
from pitstop.engine.session.step_recorder import LossWatch, StepRecorder, Vitals
from pitstop.engine.snapshots.saved_state import SavedState, open_saved_state
from pitstop.engine.snapshots.snapshots import Snapshots
from pitstop.engine.trainings.identity import RestorePoint
from pitstop.engine.trainings.present_identity import own_sources
from pitstop.engine.trainings.trainings import Trainings
from pitstop.errors import PeerClosed, PeerFault, PitstopError, ProtocolMismatch
from pitstop.events import Event, Notice, TrainerConnected
from pitstop.link.beacon import Beacon, Phase
from pitstop.link.messages import Hello, ImageAnswer, RestoreRequest, Welcome
from pitstop.link.wire import PROTOCOL, Connection
from pitstop.plain_text import say


@functools.cache
def _tell_of_another_user() -> None:
    say(
        "The training runs as another user than `pitstop run`, and cannot be saved. "
        "Start `pitstop run` as that user."
    )


class Session:
    def __init__(self, connection: Connection, beacon: Beacon, welcome: Welcome) -> None:
        self.beacon = beacon
        self._supervisor = SupervisorConnection(connection, beacon)
        # sends an event to the journal; silent when the supervisor is gone
        self.report: Callable[[Event], None] = self._supervisor.report
        self.settings = welcome.settings
        points = [RestorePoint.from_json(point) for point in welcome.points]
        self.trainings = Trainings(points, beacon)
        # step an earlier attempt had reached, -1 when none
        self.lost_from_step = welcome.lost_from_step
        self.attempt_dir = Path(welcome.run_dir) / "attempts" / str(welcome.attempt)
        self.steps = StepRecorder(self.attempt_dir, self.report)
        # tells the flight recorder what only this process sees
        self.vitals = Vitals(self._supervisor.send, self.settings.flight_seconds)
        self.snapshots = Snapshots(self._supervisor, self.trainings, welcome)
        self.losses = LossWatch(self.snapshots.not_finite)
        self.refusal = welcome.refusal  # why it may not go on; empty where it may
        self.kernel = False  # the process is a notebook's kernel, which no stop ends
        self.exit_called = False  # by the script, which may still go on
        self.stop_signal = 0  # the signal that has asked for a stop, 0 for none
        # fits are the training; else they are parts of the steps of the script's own loop
        self.trains_with_fit = True

    @classmethod
    def open(cls, socket_path: str, versions: dict[str, str]) -> Self:
        """Reports to the supervisor and waits for its welcome.

        Raises `PeerClosed` where there is no supervisor any more, `ProtocolMismatch` where it
        refuses.
        """
        try:
            connection = Connection.connect(socket_path)
        except PeerClosed as error:
            if isinstance(error.__cause__, PermissionError):
                _tell_of_another_user()
            raise
        connection.send(Hello(PROTOCOL, os.getpid(), platform.python_version(), sys.argv))
        received = connection.receive()
        if not isinstance(received.message, Welcome):
            connection.close()
            raise ProtocolMismatch(reason_of(received.message))
        session = cls(connection, Beacon(received.fds[0]), received.message)
        supervisor_connection.watch(connection, session.beacon, lambda: not session.snapshots.alone)
        python = platform.python_version()
        files = own_sources(), EARLIER.inputs()
        session.report(TrainerConnected(os.getpid(), python, sys.argv, versions, *files))
        return session

    @property
    def is_over(self) -> bool:
        return self._supervisor.is_over

    def leave(self) -> None:
        self._supervisor.close()
        self.snapshots.close()

    def refuse(self, problem: PitstopError, code: str = "resume_refused") -> NoReturn:
        """Tells why the script may not go on, and leaves it (`Refused`)."""
        self.report(Notice(code, problem.message, problem.remedy))
        raise Refused

    def give_up_snapshots(self, error: Exception) -> None:
        self.snapshots.give_up(error)

    def start_from(self) -> str:
        return "" if self.trainings.newest else self.settings.start_from

    def fetch(self, point: RestorePoint) -> SavedState:
        """The verified state of a restore point; raises `PeerFault` or `PeerClosed`, never None."""
        try:
            received = self._supervisor.ask(RestoreRequest(point.checkpoint))
            if isinstance(received.message, ImageAnswer):
                return open_saved_state(received.fds)
            raise PeerFault(f"Checkpoint {point.checkpoint}: {reason_of(received.message)}.")
        except PeerFault as fault:
            self.report(Notice("resume_refused", str(fault), "Run the same command again."))
            raise

    def is_stopping(self) -> bool:
        """Whether the script ends for a stop; one that came too late changes nothing."""
        return self.snapshots.stopped or (self.exit_called and self.stop_requested())

    def stop_requested(self) -> bool:
        return self._supervisor.stop_requested()

    def phase(self) -> Phase:
        return self.beacon.phase()
