"""Runs the command of a run up to a saved state, as a resume would, and lets it export there."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from pitstop import events, journal
from pitstop.engine.session.export_order import REFUSED
from pitstop.engine.snapshots.saved_state import SavedState, open_saved_state
from pitstop.errors import CheckpointCorrupt, EnvironmentFault, UserError
from pitstop.events import Event
from pitstop.link.beacon import Beacon
from pitstop.link.messages import ImageAnswer, NoImage, Refusal, RestoreRequest, Welcome
from pitstop.link.settings import ENV_COMPANION, ENV_ENTROPY, ENV_SOCKET, Settings
from pitstop.link.wire import PROTOCOL, close_all
from pitstop.machine.own_process import send_to_group
from pitstop.masking import MASK, masked_words
from pitstop.record import Frozen
from pitstop.snapshot.loading import RestoreImage, load
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.control.requests import ClientReception, RequestDesk
from pitstop.supervisor.helpers.restoring import restore_points
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.trainer_slot import RestorePoints, TrainerSlot
from pitstop.supervisor.records.fingerprint import hash_seed

Say = Callable[[str], None]  # shows a line to the user


class Source(Frozen):
    """A checkpoint and those that a script goes through on its way to it."""

    name: str
    manifest: Manifest
    saved: SavedState
    points: RestorePoints  # as a resume has them
    entries: tuple[CheckpointEntry, ...]
    loaded: RestoreImage  # its files are open: a live run may remove them

    def close(self) -> None:
        self.loaded.close()

    def image(self, name: str) -> tuple[int, ...]:
        """A verified image of a point, descriptors the caller's; raises `CheckpointCorrupt`."""
        if name == self.name:
            return _duplicates(self.loaded)
        found = next(each for each in self.entries if each.path.name == name)
        return load(found.path, found.readable()).fds


def choose(folder: RunFolder, wanted: str, say: Say) -> Source:
    """The named, or newest good, checkpoint; a `UserError`, or `CheckpointCorrupt` if damaged."""
    entries = Catalog(folder.checkpoints).entries()
    candidates = [each for each in entries if not wanted or wanted in _names_of(each)]
    for each in candidates:
        try:
            return _source(each, entries)
        except CheckpointCorrupt as damage:
            if wanted:
                raise
            say(f"{each.path} is damaged ({damage.reason}); using the one before it.")
    raise UserError(
        f"{folder.path} has no checkpoint{f' {wanted}' if wanted else ' to export'}.",
        f"See `pitstop checkpoints {folder.path}`; `pitstop checkpoint` saves one of a live run.",
    )


def _names_of(entry: CheckpointEntry) -> set[str]:
    info = entry.manifest.info if entry.manifest else None
    return {entry.path.name, *((info.name, str(info.step)) if info else ())}


def _source(entry: CheckpointEntry, entries: Sequence[CheckpointEntry]) -> Source:
    manifest = entry.readable()
    loaded = load(entry.path, manifest)
    return Source(
        name=entry.path.name,
        manifest=manifest,
        saved=open_saved_state(_duplicates(loaded)),
        points=restore_points(entries, entry.path.name),
        entries=tuple(entries),
        loaded=loaded,
    )


def _duplicates(image: RestoreImage) -> tuple[int, ...]:
    return tuple(os.dup(fd) for fd in image.fds)


_ATTEMPT = 1
_TURN_SECONDS = 60.0
_TAIL_LINES = 20


class Script(Frozen):
    command: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]  # without our variables
    launched: bool = True  # instrumented from outside; else it asks for a supervisor itself


@dataclass
class Outcome:
    """How it ended; `output`: the last lines that it printed."""

    events: list[Event] = field(default_factory=list)
    exit_code: int = 0
    output: str = ""


class Host:
    """In the place of a supervisor: welcomes one process, and gives it saved states."""

    def __init__(self, settings: Settings, source: Source | None = None) -> None:
        self._settings = settings
        self._source = source
        self._outcome = Outcome()
        self._event_loop = EventLoop()
        self._ended = False
        self._trainer_slot: TrainerSlot

    def run(self, script: Script) -> Outcome:
        """Runs the script to its end; raises `EnvironmentFault`, or a `UserError`."""
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pitstop-"))
            (Path(folder) / "attempts" / str(_ATTEMPT)).mkdir(parents=True)
            log = Path(folder) / "output.log"
            control = stack.enter_context(closing(ControlSocket.open("export")))
            beacon = stack.enter_context(closing(Beacon.create()))
            welcome = Welcome(PROTOCOL, folder, _ATTEMPT, self._settings, -1, points=())
            self._trainer_slot = TrainerSlot(self._event_loop, welcome, beacon.fd)
            stack.enter_context(closing(ClientReception(self._event_loop, control, RequestDesk())))
            child = _start(script, str(control.path), log)
            stack.callback(_end, child)
            exit_file = stack.enter_context(os.fdopen(os.pidfd_open(child.pid), "rb", 0))
            self._event_loop.watch(exit_file, self._on_exit)
            while not self._ended:
                self._handle(self._event_loop.turn(_TURN_SECONDS))
            self._handle(self._trainer_slot.drain())
            self._outcome.exit_code = child.wait()
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            self._outcome.output = "\n".join(lines[-_TAIL_LINES:])
        return self._outcome

    def _handle(self, happened: Iterable[Occurrence]) -> None:
        for each in happened:
            match each:
                case Event() as event:
                    self._outcome.events.append(event)
                case occurrences.TrainingAsked(client, hello):
                    self._handle(self._trainer_slot.offer(client, hello))
                case occurrences.StatusAsked(client) | occurrences.CheckpointAsked(client):
                    client.tell(Refusal("Nothing but the training is served here."))
                case occurrences.TrainerCameIn():
                    self._trainer_slot.welcome(self._source.points if self._source else ())
                case occurrences.ArenaReceived(_, fd):
                    os.close(fd)
                case RestoreRequest(checkpoint):
                    self._restore(checkpoint)

    def _restore(self, checkpoint: str) -> None:
        connection = self._trainer_slot.connection
        if connection is None or self._source is None:
            return
        try:
            fds = self._source.image(checkpoint)
        except CheckpointCorrupt as damage:
            connection.tell(NoImage(checkpoint, damage.reason))
            return
        connection.tell(ImageAnswer(checkpoint), fds)
        close_all(fds)

    def _on_exit(self) -> None:
        self._ended = True


def _start(script: Script, socket_path: str, log: Path) -> subprocess.Popen[bytes]:
    environment = {**script.environment, ENV_COMPANION: socket_path}
    environment.pop(ENV_SOCKET, None)
    if script.launched:
        environment = process.instrumented_environment(script.environment, socket_path)
    try:
        with log.open("wb") as output:
            return subprocess.Popen(
                list(script.command),
                cwd=script.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise process.explain_refusal(script.command[0], error) from error


def _end(child: subprocess.Popen[bytes]) -> None:
    send_to_group(signal.SIGKILL, child.pid)
    child.wait()


def script_of(folder: RunFolder, attempt: int, command: Sequence[str] = ()) -> Script:
    """The run's command as an attempt started it, with its secrets; raises a `UserError`."""
    identity = folder.identity
    if not Path(identity.cwd).is_dir():
        raise UserError(
            f"The run's command was started in {identity.cwd}, which no longer exists.",
            "Create the folder again.",
        )
    entries = journal.read(folder.journal).entries
    started = journal.with_attempts(entries, events.AttemptStarted)
    launched = next((each.launched for number, each in started if number == attempt), True)
    seeds = {ENV_ENTROPY: identity.entropy, **hash_seed(identity.entropy, os.environ, {})}
    environment = {**os.environ, **seeds}
    return Script(_whole(identity.command, command), Path(identity.cwd), environment, launched)


def _whole(kept: tuple[str, ...], given: Sequence[str]) -> tuple[str, ...]:
    if given and tuple(masked_words(given)) != kept:
        raise UserError("This is not the run's command.", f"Give it as it was: {shlex.join(kept)}")
    if not given and any(MASK in word for word in kept):
        raise UserError(
            "The run's command contains a secret, which the run folder does not store.",
            f"Give the command again, with the secret, after `--`: -- {shlex.join(kept)}",
        )
    return tuple(given) or kept


def failure(outcome: Outcome, remedy: str) -> UserError | EnvironmentFault:
    for event in outcome.events:
        if isinstance(event, events.Notice) and event.code in (REFUSED, "resume_refused"):
            return UserError(event.message, event.remedy)
        if isinstance(event, events.InstrumentationUnavailable):
            return EnvironmentFault(event.reason, event.remedy)
    raised = [each for each in outcome.events if isinstance(each, events.ExceptionRaised)]
    why = f" ({raised[-1].class_name}: {raised[-1].message})" if raised else ""
    end = f"with exit code {outcome.exit_code} before that{why}"
    return UserError(f"The script ended {end}. Its last output:\n{outcome.output}\n", remedy)
