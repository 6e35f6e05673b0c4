"""The options for trainings that stand still or fail."""

from __future__ import annotations

import click

from pitstop.cli.option_group import option_group
from pitstop.cli.quantities import SECONDS
from pitstop.record import record
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.restarts.restarts import RestartPolicy


@record
class SupervisionOptions:
    """What the options ask for: how often to start again, and what a standstill is."""

    restarts: RestartPolicy
    hang: HangPolicy


def _care(restarts: int, hang_after: float, on_hang: str) -> SupervisionOptions:
    if on_hang == "restart" and not restarts:
        raise click.UsageError("--on-hang restart needs a number of restarts: --restarts 3.")
    return SupervisionOptions(
        RestartPolicy(restarts, after_hang=on_hang != "kill"), HangPolicy(hang_after, on_hang)
    )


supervision_options = option_group(
    "care",
    _care,
    click.option(
        "--restarts",
        type=click.IntRange(min=0),
        default=0,
        help="Start COMMAND again so many times after a failure that another try can help.  "
        "[default: 0]",
    ),
    click.option(
        "--hang-after",
        type=SECONDS,
        default=HangPolicy.after_seconds,
        help="The shortest time without progress that counts as a standstill; more where steps "
        "take long.  [default: 60s; 0: no watch]",
    ),
    click.option(
        "--on-hang",
        type=click.Choice(("warn", "kill", "restart")),
        default=HangPolicy.action,
        help="What to do about a standstill, besides recording all stacks; `restart` counts as "
        "one of --restarts.  [default: warn]",
    ),
)
"""Adds --restarts, --hang-after and --on-hang; the command gets a `Care`."""
