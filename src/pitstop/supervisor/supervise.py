"""`pitstop run`: everything that is opened for an attempt, and closed after it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop import journal
from pitstop.errors import RunFolderUnwritable, RunInUse
from pitstop.events import Event
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.journal import Entry
from pitstop.link.beacon import Beacon
from pitstop.link.settings import ENV_ENTROPY, ENV_STACKS, STACKS_FILE, Settings
from pitstop.machine import cgroup
from pitstop.observation.schedulers import SLURM_JOB_END
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.filesystem import REAL_FILESYSTEM
from pitstop.store.lock import RunLock, is_running, own_record, read_lock
from pitstop.store.retention import write_policy
from pitstop.store.run_folder import STOP_FILE, RunFolder, archive, open_or_create
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources, RunContext, start
from pitstop.supervisor.attempt.spare import Spare
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.helpers.helper_link import PersisterLink, PersisterPlan
from pitstop.supervisor.lifecycle.occurrences import EventLoop
from pitstop.supervisor.lifecycle.table import Lifecycle, State
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.invocation import is_python_program
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.records.attempt_state import left_by
from pitstop.supervisor.records.event_log import EventLog
from pitstop.supervisor.records.history import History, batch_parts
from pitstop.supervisor.restarts.restarts import CauseOf, Restarts
from pitstop.supervisor.restarts.rollbacks import Rollbacks, altered
from pitstop.supervisor.runs import admission
from pitstop.supervisor.runs.run_request import RunOutcome, RunRequest
from pitstop.supervisor.stops.signals import SignalQueue
from pitstop.supervisor.stops.stop_sources import StopSources, TimeLimit, asked_end
from pitstop.supervisor.terminal import screen
from pitstop.supervisor.terminal.output import OutputLog, Tee, open_channels
from pitstop.supervisor.terminal.screen import Screen

# What is not needed before the script starts is loaded after its start, by the functions below.
if TYPE_CHECKING:
    from pitstop.supervisor.helpers.mirroring import MirrorLink
    from pitstop.supervisor.restarts.restart_wait import RestartWait
    from pitstop.supervisor.status import Status

PERSISTER_LOG = "persister.log"
_RETRY_SECONDS = 0.1
_LAST_SAVE_SECONDS = 60.0


def supervise(
    request: RunRequest,
    say: Callable[[str], None],
    ready: Callable[[str], None] = lambda _: None,
    cause_of: CauseOf = lambda _: "unknown",
) -> RunOutcome:
    """Runs the command to its end or to a stop; again where that is asked for and helps.

    Must be called in the main thread of a process that does nothing else: it blocks signals, adopts
    orphans and collects every child.  Raises `UserError` or `EnvironmentFault`.

    Args:
        say: tells the user a line before the attempt has begun.
        ready: told the run's socket once a trainer can connect to it.
        cause_of: finds out why an attempt failed, see `restarts`.
    """
    if request.max_seconds is None and (end := asked_end(os.environ)):
        os.environ[SLURM_JOB_END] = end  # for the script too, as newer versions do
    started_seconds = time.time()
    limit = TimeLimit.find(request.max_seconds, os.environ, started_seconds, time.monotonic())
    program = process.find_program(request.command)
    with ExitStack() as stack:
        # The first to be opened is the last to be closed: `pitstop stop` waits
        # for the end of this socket, and then the run must be free again.
        control = stack.enter_context(closing(ControlSocket.open("run")))
        mirror = _open_mirror(stack, request, say)
        folder, lock = _claim(request, str(control.path), say)
        stack.enter_context(closing(lock))
        admission.admit(request, folder)
        if admission.is_finished(request, folder):
            _last_uploads(mirror, None, say)
            return RunOutcome(State.COMPLETED.value, 0, 0)
        process.adopt_orphans()
        # Before any thread: all threads must have the signals blocked.
        signals = stack.enter_context(closing(SignalQueue(request.stops.signals)))
        if request.launcher_pid:
            process.stop_with_parent(request.launcher_pid)
        spare = stack.enter_context(closing(Spare(program, signals.original_mask)))
        shared = (stack, request, program, limit, control, mirror, folder, lock, signals, spare)
        context = RunContext(*shared, started_seconds)
        rollbacks = Rollbacks(folder, request.restarts.rollbacks)
        restarts = Restarts(request.restarts, cause_of, rollbacks)
        while (outcome := _attempt(context, restarts, say, ready)) is None:
            continue
        return outcome


def _plan(context: RunContext, restarts_left: int, say: Callable[[str], None]) -> AttemptPlan:
    folder = context.folder
    # Checkpoints of a newer version end it here, before anything has begun.
    saved = Catalog(folder.checkpoints).entries()
    entries = journal.read(folder.journal).entries
    history = _history(entries, say)
    edited = fingerprint.EditedFiles.from_entries(entries if saved else ())
    settings = _settings(context.request, history, saved, say)
    policy = context.request.restarts
    settings = altered(settings, history.rollbacks, allowed=policy.rollbacks > 0)
    settings = replace(settings, spare=_may_spare(context.request), edits=edited.digest)
    request = replace(context.request, settings=settings)
    # A script that runs already has made its fingerprint.
    before = {} if request.trainer_pid else history.environment
    chosen = fingerprint.choose_threads(len(os.sched_getaffinity(0)), os.environ, before)
    attempt = folder.next_attempt()
    stacks_path = str(folder.attempt_dir(attempt).absolute() / STACKS_FILE)
    # One that runs already has hashed, too.
    hashing = fingerprint.hash_seed(folder.identity.entropy, os.environ, before)
    steering = {} if request.trainer_pid else {**hashing, **request.settings.variables}
    environment = {
        **os.environ,
        **chosen.variables,
        **steering,
        ENV_ENTROPY: folder.identity.entropy,
        ENV_STACKS: stacks_path,
    }
    return AttemptPlan(
        request=request,
        environment=process.instrumented_environment(environment, str(context.control.path)),
        attempt=attempt,
        history=history,
        resumes=bool(saved),
        fingerprint=fingerprint.collect(request.command, os.environ | steering, chosen),
        command_changes=admission.changes_of(request, folder),
        edited_files=edited.since_last,
        threads=chosen,
        started_seconds=time.time(),
        restarts_left=restarts_left,
    )


def _history(entries: Sequence[Entry], say: Callable[[str], None]) -> History:
    group = cgroup.find(os.getpid())
    history = History.from_entries(entries, cgroup.read(group).limit_bytes if group else None)
    if history.batch_parts < batch_parts(entries, 1):
        parts = f"in {history.batch_parts} parts" if history.batch_parts > 1 else "whole"
        say(f"more memory is allowed than when it ran out: a batch is computed {parts} again.")
    return history


def _may_spare(request: RunRequest) -> bool:
    policy = request.restarts
    is_wanted = policy.most > 0 and policy.spare is not False
    # An interpreter waits before it runs the script; other programs run at once.
    return is_wanted and not request.trainer_pid and is_python_program(request.command[0])


def _settings(
    request: RunRequest,
    history: History,
    saved: Sequence[CheckpointEntry],
    say: Callable[[str], None],
) -> Settings:
    asked = request.settings.start_from
    if asked and saved:
        say(f"{request.run_dir} resumes its own state, not {asked}; use --new to start over.")
    infos = [entry.manifest.info for entry in saved if entry.manifest]
    return replace(
        request.settings,
        start_from=history.start_from if saved or not asked else asked,
        keep_best=tuple(str(rule) for rule in request.retention.keep_best),
        saved_metrics=tuple((info.step, info.metrics) for info in infos if info.metrics),
        batch_parts=history.batch_parts,
        small_buffers=history.small_buffers,
        mixed_precision=history.mixed_precision,
    )


def _open_event_log(
    stack: ExitStack, plan: AttemptPlan, folder: RunFolder, screen: Screen
) -> EventLog:
    try:
        event_log = EventLog(folder.journal, plan.attempt, screen.say, left_by(plan.history))
        # The journal syncs itself, its name is the folder's.
        REAL_FILESYSTEM.sync_dir(folder.path)
    except OSError as error:
        raise RunFolderUnwritable(
            f"{folder.journal} cannot be written: {error.strerror}.",
            "Free disk space, or fix the folder's permissions.",
        ) from error
    return stack.enter_context(closing(event_log))


def _open(stack: ExitStack, plan: AttemptPlan, context: RunContext) -> AttemptResources:
    folder = context.folder
    write_policy(folder, plan.attempt, plan.request.retention)
    beacon = stack.enter_context(closing(Beacon.create()))
    screen = stack.enter_context(closing(Screen(status_row=_shows_status(plan.request))))
    log = OutputLog(folder.output_log(plan.attempt))
    persister_plan = PersisterPlan(
        folder.path,
        plan.attempt,
        context.lock.fileno(),
        beacon.fd,
        plan.request.retention,
        folder.attempt_dir(plan.attempt) / PERSISTER_LOG,
        context.signals.blocked_mask,
    )
    output = context.spare.take(plan.environment, plan.fingerprint) or open_channels()
    return AttemptResources(
        plan=plan,
        run=context,
        event_loop=stack.enter_context(closing(EventLoop())),
        lifecycle=Lifecycle(),
        catalog=Catalog(folder.checkpoints),
        beacon=beacon,
        screen=screen,
        event_log=_open_event_log(stack, plan, folder, screen),
        tee=stack.enter_context(closing(Tee(output, log, screen))),
        persister=stack.enter_context(closing(PersisterLink(persister_plan))),
    )


def _attempt(
    context: RunContext,
    restarts: Restarts,
    say: Callable[[str], None],
    ready: Callable[[str], None],
) -> RunOutcome | None:
    plan = _plan(context, restarts.left, say)
    with ExitStack() as stack:
        resources = _open(stack, plan, context)
        running = start(resources)
        from pitstop.supervisor.attempt.supervision import Supervision

        with closing(Supervision(resources, running)) as supervision:
            ready(str(context.control.path))
            exit_code = supervision.run()
            resources.tee.close()
            state, step = resources.lifecycle.state, resources.beacon.progress().step
            record = resources.event_log.record
            found = resources.attempt_state
            wait_seconds = None
            if found.role is not None or context.cluster.over_seconds < 0:
                wait_seconds = restarts.after(state, step, context.folder.path, record, found)
            if wait_seconds is None:
                for line in supervision.last_words():
                    resources.screen.say(line)
                supervision.finish()
                return RunOutcome(state.value, restarts.exit_code(exit_code), plan.attempt)
            status = replace(supervision.status(), restarts_left=restarts.left)
        cancelled = _restart_wait(resources, context, status).run(wait_seconds)
        if cancelled is None:
            return None
        resources.event_log.record(cancelled)
    _last_uploads(context.mirror, plan.request.grace_seconds, say)
    return RunOutcome(State.STOPPED.value, EXIT_STOPPED, plan.attempt)


def _restart_wait(resources: AttemptResources, context: RunContext, status: Status) -> RestartWait:
    from pitstop.supervisor.restarts.restart_wait import WAITING, RestartWait

    stop_sources = StopSources(
        context.folder.path / STOP_FILE, context.limit, context.preemption.request
    )
    save_seconds = resources.event_log.attempt_state.save_seconds
    waiting = replace(status, state=WAITING, phase="waiting")
    channels = context.signals, context.control, stop_sources
    return RestartWait(*channels, waiting, save_seconds, context.cluster)


def _open_mirror(
    stack: ExitStack, request: RunRequest, say: Callable[[str], None]
) -> MirrorLink | None:
    if not request.mirror:
        return None
    from pitstop.supervisor.helpers.mirroring import MirrorLink

    link = MirrorLink(request.mirror, request.run_dir, new=request.new)
    stack.enter_context(closing(link))
    link.open(say)
    return link


def _last_uploads(
    link: MirrorLink | None, grace_seconds: float | None, say: Callable[[str], None]
) -> None:
    """Sends what earlier attempts could not; after a stop no longer than its grace allows."""
    if link is None:
        return
    from pitstop.supervisor.helpers.mirroring import Mirroring, patience_seconds
    from pitstop.supervisor.records import notices

    stopped_for = None if grace_seconds is None else 0.0
    with closing(EventLoop()) as event_loop:
        mirroring = Mirroring(event_loop, link)
        mirroring.begin()
        for each in mirroring.finish(patience_seconds(stopped_for, grace_seconds or 0.0, None)):
            if isinstance(each, Event) and (line := notices.line_for(each)):
                say(line)


def _claim(
    request: RunRequest, socket_path: str, say: Callable[[str], None]
) -> tuple[RunFolder, RunLock]:
    """The run's folder, made or put aside as asked, and locked for us."""
    folder = open_or_create(
        request.run_dir, request.command, Path.cwd(), fingerprint.of_new_runs(os.environ)
    )
    lock = _lock(folder, socket_path, say)
    if not request.new or not folder.journal.exists():
        return folder, lock
    archive(folder.path)
    lock.close()
    return _claim(replace(request, new=False), socket_path, say)


def _lock(folder: RunFolder, socket_path: str, say: Callable[[str], None]) -> RunLock:
    """Takes the run's lock; waits while the run of a supervisor that died is still being saved."""
    give_up_at = time.monotonic() + _LAST_SAVE_SECONDS
    told = False
    while True:
        try:
            return RunLock.acquire(folder.lock, own_record(socket_path))
        except RunInUse:
            record = read_lock(folder.lock)
            is_lost = record is not None and not is_running(record)
            if not is_lost or time.monotonic() >= give_up_at:
                raise
        if not told:
            say("waiting until the last attempt is saved.")
        told = True
        time.sleep(_RETRY_SECONDS)


def _shows_status(request: RunRequest) -> bool:
    size = screen.window_size(2)
    terminals = os.isatty(1) and os.isatty(2) and size is not None
    rows = size.lines if size else 0
    return request.status_line and screen.wanted(os.environ, terminals=terminals, rows=rows)
