"""The process that makes snapshots durable, and outlives the other two.

It holds the arena, so a killed trainer's newest snapshot is still there, and the run's lock.  When
the supervisor is gone it asks the trainer to stop, waits for it, saves what is newest, and leaves.
"""

import contextlib
import signal
from dataclasses import dataclass
from pathlib import Path

from pitstop import errors, events
from pitstop.journal import Journal
from pitstop.link import messages
from pitstop.link.beacon import Beacon, Phase, Stop
from pitstop.link.helper import begun
from pitstop.link.wire import Connection, Received
from pitstop.machine.own_process import send_to_group, wait_for_exit
from pitstop.record import build
from pitstop.snapshot.loading import load
from pitstop.snapshot.saving import Saver
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import RunFolder, open_existing

_ORPHAN_GRACE_SECONDS = 30.0
_STARTING_GRACE_SECONDS = 0.5  # for a script that has no training under way, and sees no stop word
_TERMINATE_SECONDS = 3.0


@dataclass(eq=False)
class Persister:
    """Obeys the supervisor's messages until `finish`, or until it is gone."""

    _connection: Connection
    _folder: RunFolder
    _attempt: int
    _beacon: Beacon
    _retention: RetentionPolicy

    def __post_init__(self) -> None:
        checkpoints = self._folder.checkpoints
        self._catalog = Catalog(checkpoints)
        self._saver = Saver(checkpoints, self._beacon, self._attempt, self._retention)
        self._trainer_pid = 0
        self._orphaned = False
        self._told_non_finite = False

    def run(self) -> None:
        self._catalog.remove_partials()
        # An earlier persister that was killed while it read a snapshot does not read any more.
        self._beacon.pin(0)
        try:
            while not isinstance((received := self._connection.receive()).message, messages.Finish):
                self._handle(received)
            self._connection.send(messages.Finished())
        except errors.PeerClosed:
            self._orphaned = True
            self._save_without_supervisor()

    def _handle(self, received: Received) -> None:
        match received.message:
            case messages.TrainerPid(pid):
                self._trainer_pid = pid
            case messages.ArenaOffer():
                self._saver.use_arena(received.fds[0])
            case messages.Keep(checkpoint):
                self._saver.kept = checkpoint
            case messages.Load(checkpoint):
                self._answer_load(checkpoint)
            case messages.Persist(reason):
                self._connection.send(self._persisted(reason))

    def _answer_load(self, wanted: str) -> None:
        for entry in self._catalog.entries():
            if wanted in ("", entry.path.name) and self._give(entry):
                return
        reason = f"there is no undamaged checkpoint {wanted}".rstrip()
        self._connection.send(messages.NoImage(wanted, reason))

    def _give(self, entry: CheckpointEntry) -> bool:
        """Answers with a checkpoint; False when it is damaged: the one before is tried then."""
        name = entry.path.name
        try:
            image = load(entry.path, entry.readable())
        except errors.CheckpointCorrupt as damage:
            self._set_aside(entry, damage.reason)
            return False
        except errors.EnvironmentFault as fault:
            # Intact as far as anybody knows: to go on from an older one would be a silent loss.
            reason = fault.message.rstrip(".")
            self._connection.send(messages.NoImage(name, reason))
            return True
        self._saver.restored(image.ledger)
        self._connection.send(messages.ImageAnswer(name), image.fds)
        image.close()
        return True

    def _set_aside(self, entry: CheckpointEntry, reason: str) -> None:
        try:
            place = self._catalog.quarantine(entry, reason)
        except errors.RunFolderUnwritable as fault:
            message = f"{entry.path} is damaged ({reason}) but cannot be moved: {fault.message}"
            self._report(events.Notice("checkpoint_not_set_aside", message, fault.remedy))
        else:
            self._report(events.CheckpointQuarantined(str(place), reason))

    def _persisted(self, reason: str) -> messages.Message:
        outcome = self._persist(reason)
        if isinstance(outcome, events.CheckpointFailed):
            return messages.PersistFailed(outcome.error)
        if outcome is None:
            return messages.Persisted(0, 0.0)
        return messages.Persisted(self._saver.saved_sequence, outcome.seconds)

    def _persist(self, reason: str) -> events.CheckpointCommitted | events.CheckpointFailed | None:
        try:
            committed = self._saver.save_newest(reason)
        except errors.PitstopError as error:
            step = self._beacon.progress().snapshot_step
            failed = events.CheckpointFailed(step, error.message, error.remedy)
            self._report(failed)
            return failed
        if committed is not None:
            self._report(committed)
            if committed.non_finite and not self._told_non_finite:
                self._told_non_finite = True
                self._tell_non_finite(committed)
        return committed

    def _tell_non_finite(self, committed: events.CheckpointCommitted) -> None:
        infos = (manifest.info for manifest in self._catalog.manifests())
        finite_step = next((info.step for info in infos if not info.non_finite), -1)
        self._report(events.NonFiniteWeights(committed.step, committed.non_finite, finite_step))

    def _report(self, event: events.Event) -> None:
        """The supervisor writes the journal; this process writes it if the supervisor is gone."""
        if not self._orphaned:
            try:
                self._connection.send(messages.EventReport(events.to_record(event)))
                return
            except errors.PeerClosed:
                self._orphaned = True
        # A journal that cannot be written does not end the saving.
        with contextlib.suppress(OSError), Journal(self._folder.journal, self._attempt) as journal:
            journal.append(event, durable=True)

    def _save_without_supervisor(self) -> None:
        self._beacon.request_stop(Stop.GRACEFUL)
        self._report(events.StopRequested(source="supervisor_lost", urgency="graceful"))
        if self._trainer_pid:
            begun = self._beacon.progress().phase is not Phase.STARTING
            grace_seconds = _ORPHAN_GRACE_SECONDS if begun else _STARTING_GRACE_SECONDS
            end_process_group(self._trainer_pid, grace_seconds)
        self._persist("supervisor_lost")


def end_process_group(pid: int, grace_seconds: float) -> None:
    """Waits for a process and kills what is left of its group, with its data workers."""
    if not wait_for_exit(pid, grace_seconds):
        send_to_group(signal.SIGTERM, pid)
        wait_for_exit(pid, _TERMINATE_SECONDS)
    send_to_group(signal.SIGKILL, pid)


def main() -> None:
    connection, told = begun()
    folder = open_existing(Path(told["run_dir"]))
    retention = build(RetentionPolicy, "retention", told["retention"])
    beacon = Beacon(told["beacon_fd"])
    Persister(connection, folder, told["attempt"], beacon, retention).run()


if __name__ == "__main__":
    main()
