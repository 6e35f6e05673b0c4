"""What a button asks of a run, in the way of `pitstop stop` and `pitstop checkpoint`."""

import contextlib
from collections.abc import Callable, Mapping

from pitstop.errors import UserError
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.control.live_run import LiveRun, suspended, wake


def stop(folder: RunFolder) -> str:
    wake(suspended(folder))
    with contextlib.closing(LiveRun.get(folder)) as live:
        wake(live.suspended_trainer())
        live.stop(now=False)
    return "It will stop after this step."


def stop_after_epoch(folder: RunFolder) -> str:
    with contextlib.closing(LiveRun.get(folder)) as live:
        live.stop_after_epoch()
    return "It will stop at the end of this epoch."


def checkpoint(folder: RunFolder) -> str:
    """Saves the run, and waits; `UserError` if it is suspended."""
    with contextlib.closing(LiveRun.get(folder)) as live:
        if suspended(folder) or live.suspended_trainer():
            raise UserError(f"{folder.path} is suspended.", "Continue it first.")
        saved = live.checkpoint("", lambda: None)
    return f"Step {saved.step:,} is saved."


ACTIONS: Mapping[str, Callable[[RunFolder], str]] = {
    "stop": stop,
    "stop_after_epoch": stop_after_epoch,
    "checkpoint": checkpoint,
}
