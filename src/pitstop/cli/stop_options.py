"""The options for what stops a run, besides a command."""

from __future__ import annotations

import click

from pitstop.cli.option_group import option_group
from pitstop.cli.quantities import SECONDS, SIGNAL_ACTION
from pitstop.supervisor.stops.signal_actions import SignalActions
from pitstop.supervisor.stops.stop_policy import PREEMPTION_CHOICES, StopPolicy


def _policy(
    signals: tuple[str, ...],
    kill_after: float | None,
    preemption: str,
    on_pressure: str,
    *,
    acknowledge: bool,
) -> StopPolicy:
    return StopPolicy(
        preemption=preemption,
        stops_under_pressure=on_pressure == "stop",
        acknowledges=acknowledge,
        signals=SignalActions.from_texts(signals),
        kill_after_seconds=kill_after,
    )


stop_options = option_group(
    "stops",
    _policy,
    click.option(
        "--signal",
        "signals",
        type=SIGNAL_ACTION,
        multiple=True,
        help="What a signal to `pitstop run` does: stop, now, checkpoint or ignore.  "
        "[default: HUP=stop INT=stop TERM=stop USR1=stop USR2=checkpoint]",
    ),
    click.option(
        "--kill-after",
        type=SECONDS,
        help="The time from a SIGTERM to the SIGKILL that follows.  [default: what `timeout -k` "
        "says; 30s in Kubernetes; else unknown]",
    ),
    click.option(
        "--preemption",
        type=click.Choice(PREEMPTION_CHOICES),
        default="auto",
        help="Whose notices that the machine is taken away are followed.  [default: auto, those "
        "of the cloud that the machine's firmware names]",
    ),
    click.option(
        "--acknowledge",
        is_flag=True,
        help="Tell Azure, once the run is saved, that the machine may go at once, if its notice is "
        "of this machine alone.",
    ),
    click.option(
        "--on-pressure",
        type=click.Choice(("warn", "stop")),
        default="warn",
        help="What to do when memory or disk gets short, besides saving what was trained.  "
        "[default: warn]",
    ),
)
"""Adds --signal, --kill-after, --preemption, --acknowledge and --on-pressure; the command
gets a `StopPolicy`."""
