"""`pitstop checkpoint`."""

from __future__ import annotations

from pathlib import Path

import click

from pitstop.cli.live_run import LiveRun, find_run
from pitstop.errors import RunNotFound


@click.command()
@click.argument("run", type=click.Path(path_type=Path), required=False)
def checkpoint(run: Path | None) -> None:
    """Write a durable checkpoint of RUN now; training goes on."""
    folder = find_run(run)
    live = LiveRun.find(folder)
    if live is None:
        raise RunNotFound(f"{folder.path} is not running.", "Its last checkpoint stands.")
    answer = live.ask("checkpoint")
    path = folder.checkpoints / str(answer["checkpoint"])
    click.echo(f"saved step {answer['checkpoint_step']} as {path}")
