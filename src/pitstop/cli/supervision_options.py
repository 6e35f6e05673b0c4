"""The options for trainings that stand still or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pitstop.cli.quantities import FLIGHT, SECONDS
from pitstop.link.settings import Settings
from pitstop.supervisor.restart import RestartPolicy
from pitstop.supervisor.watchdog import HangPolicy

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
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
        "--flight",
        type=FLIGHT,
        default=Settings.flight_seconds,
        help="How often the flight recorder notes memory, processors, disks and the input, or "
        "`off`.  [default: 1s]",
    ),
    click.option(
        "--on-hang",
        type=click.Choice(("warn", "kill", "restart")),
        default=HangPolicy.action,
        help="What to do about a standstill, besides recording all stacks; `restart` counts as "
        "one of --restarts.  [default: warn]",
    ),
)


def supervision_options(command: _F) -> _F:
    """Adds --restarts, --hang-after, --flight and --on-hang to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def restart_policy(restarts: int, on_hang: str) -> RestartPolicy:
    """The restarts that the options ask for.

    Raises:
        click.UsageError: there are to be restarts after a hang, and none at all.
    """
    if on_hang == "restart" and not restarts:
        raise click.UsageError("--on-hang restart needs a number of restarts: --restarts 3.")
    return RestartPolicy(restarts, after_hang=on_hang != "kill")
