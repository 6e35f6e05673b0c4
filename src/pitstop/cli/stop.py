"""`pitstop stop`."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from pitstop import journal
from pitstop.cli.chosen_run import begun, find_gang, find_run
from pitstop.cli.echo import tell
from pitstop.cli.places import RUN
from pitstop.errors import PeerClosed, PitstopError, UserError
from pitstop.events import MemberReleased, RoleTaken
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.record import Frozen
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.control.live_run import LiveRun, suspended, wait_until_free, wake
from pitstop.supervisor.status import stored_status

_ORPHAN_SECONDS = 60.0
_Request = Callable[[LiveRun], None]


@click.command()
@click.argument("run", type=RUN, required=False)
@click.option("--now", is_flag=True, help="Do not finish the step: stop at the last snapshot.")
@click.option("--after-epoch", is_flag=True, help="Stop at the end of the current epoch.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the run to end.")
def stop(run: Path | None, *, now: bool, after_epoch: bool, no_wait: bool) -> None:
    """Finish the current step of RUN, save it, and stop the run.

    The run exits with 75, and the same command resumes it.  For a launch, this stops
    all members, the leader first.
    """
    if now and after_epoch:
        raise UserError("--now and --after-epoch cannot be used together.", "Use only one of them.")
    request = LiveRun.stop_after_epoch if after_epoch else partial(LiveRun.stop, now=now)
    gang = find_gang(run)
    folders = [find_run(run)] if gang is None else begun(gang)
    with contextlib.ExitStack() as stack:
        # The leader of a launch is asked first; the wait begins when all have been asked.
        asked = [_ask(stack, folder, request) for folder in folders]
        for each in asked:
            if each.heard and no_wait:
                tell(f"{each.folder.path} is stopping.")
            elif each.refused is None:
                tell(_end_of(each.folder, each.live))
    for each in asked:
        if each.refused is not None:
            raise each.refused


class _StopAsked(Frozen):
    """A run that was asked to stop: whether it got the request, or why it could not be asked."""

    folder: RunFolder
    live: LiveRun | None = None
    heard: bool = False
    refused: PitstopError | None = None


def _ask(stack: contextlib.ExitStack, folder: RunFolder, request: _Request) -> _StopAsked:
    try:
        _wake(folder, suspended(folder))
        live = LiveRun.find(folder)
        if live is None:
            return _StopAsked(folder)
        stack.callback(live.close)
        return _StopAsked(folder, live, heard=_asked(folder, live, request))
    except PitstopError as error:
        # The other members of a launch are asked nevertheless.
        return _StopAsked(folder, refused=error)


def _end_of(folder: RunFolder, live: LiveRun | None) -> str:
    if live is not None:
        live.wait_for_end()
    if not wait_until_free(folder, _ORPHAN_SECONDS):
        return f"{folder.path} is still being saved by a process that has lost its supervisor."
    status = stored_status(folder)
    state = status.state if live is not None else f"not running ({status.state})"
    step = status.checkpoint_step
    saved = _saved_elsewhere(folder) if step is None else f"saved at step {step}"
    return f"{folder.path} is {state}; {saved}."


def _saved_elsewhere(folder: RunFolder) -> str:
    """What to print of a run that has saved nothing: the leader that saves for it, if any."""
    own = journal.of_last_attempt(journal.read(folder.journal).entries)
    released = journal.last_of(own, MemberReleased)
    is_saved = released is not None and released.exit_code == EXIT_STOPPED
    if released is not None and is_saved and journal.last_of(own, RoleTaken):
        return f"{released.leader} saves the training"
    return "nothing was saved"


def _wake(folder: RunFolder, pid: int) -> None:
    if pid:
        tell(f"{folder.path} is suspended; continuing process {pid} so that it can stop.")
        wake(pid)


def _asked(folder: RunFolder, live: LiveRun, request: _Request) -> bool:
    """Asks for the stop; False when the run has ended before it got the request."""
    try:
        _wake(folder, live.suspended_trainer())
        request(live)
    except PeerClosed:
        return False
    return True
