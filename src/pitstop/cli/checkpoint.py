"""`pitstop checkpoint`."""

import contextlib
from pathlib import Path

import click

from pitstop.cli.chosen_run import begun, find_gang, find_run
from pitstop.cli.echo import tell
from pitstop.cli.places import RUN
from pitstop.cli.quantities import NAME
from pitstop.errors import UserError
from pitstop.plain_text import say
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.control.live_run import LiveRun, suspended


@click.command()
@click.argument("run", type=RUN, required=False)
@click.option("--name", type=NAME, help="Name for the checkpoint, which is then never pruned.")
def checkpoint(run: Path | None, *, name: str | None) -> None:
    """Write a durable checkpoint of RUN now; training continues.

    For a launch, this saves all members that train together, at the same step.
    """
    gang = find_gang(run)
    # The leader of a launch comes first.
    folder = find_run(run) if gang is None else next(iter(begun(gang)), None) or find_run(gang.path)
    with contextlib.closing(LiveRun.get(folder)) as live:
        if pid := suspended(folder) or live.suspended_trainer():
            remedy = f"Continue it with `fg` or `kill -CONT {pid}`."
            raise UserError(f"{folder.path} is suspended.", remedy)
        if name:
            _check_unused(folder, name)
        later = f"{folder.path} will be saved at the end of the current step."
        saved = live.checkpoint(name or "", lambda: say(later))
        of_all = live.status().common_step is not None
    path = f"{folder.checkpoints / saved.checkpoint}"
    if saved.by:
        path = f"{saved.checkpoint} of {saved.by}, which saves for this task"
    called = f", named {name}" if name else ""
    everywhere = "; all members saved it" if of_all else ""
    tell(f"saved step {saved.step} as {path}{called}{everywhere}")


def _check_unused(folder: RunFolder, name: str) -> None:
    for entry in Catalog(folder.checkpoints).entries():
        if entry.manifest and entry.manifest.info.name == name:
            raise UserError(f"{entry.path} already has the name {name}.", "Choose another name.")
