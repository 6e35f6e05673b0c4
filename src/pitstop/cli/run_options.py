"""The options of `pitstop run`, in groups: for the trainer, for stops, for failures."""

from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any

import click

from pitstop.cli import quantities
from pitstop.cli.grouped_command import option, option_group
from pitstop.engine.snapshots.weights_file import identify
from pitstop.link.settings import Settings
from pitstop.record import Frozen
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.restarts.restarts import RestartPolicy
from pitstop.supervisor.runs.run_request import PREEMPTION_CHOICES, StopPolicy
from pitstop.supervisor.stops.signals import Action


def _settings(
    *, every: quantities.Interval, on_stop: str, weights: Path | None, **members: Any
) -> Settings:
    return Settings(
        every_steps=every.steps,
        every_seconds=every.seconds,
        stop_returns=on_stop == "return",
        start_from=str(identify(weights.resolve()).path) if weights else "",
        **members,
    )


training_options = option_group(
    "settings",
    _settings,
    option("--from", "weights", type=click.Path(path_type=Path)),
    option("--take", multiple=True, metavar="NAME|all"),
    option("--force", is_flag=True),
    option("--deterministic", is_flag=True),
    option("--every", type=quantities.INTERVAL, default=quantities.Interval()),
    option("--overhead", type=quantities.SHARE, default=Settings.overhead),
    option("--on-stop", type=click.Choice(("exit", "return")), default="exit"),
    option("--snapshot-memory", "snapshot_memory_bytes", type=quantities.BYTES, default=0),
    option(
        "--input",
        "input_mode",
        type=click.Choice(("auto", "native", "replay")),
        default=Settings.input_mode,
    ),
    option("--on-bad-record", type=click.Choice(("fail", "skip")), default=Settings.on_bad_record),
    option("--batch-norm", type=click.Choice(("parts", "stop")), default=Settings.batch_norm),
    option("--flight", "flight_seconds", type=quantities.FLIGHT, default=Settings.flight_seconds),
    option("--halt-at-step", type=click.IntRange(min=0), default=0),
    click.option("--die-at-step", type=click.IntRange(min=0), default=0, hidden=True),
)


def _care(
    restarts: int,
    spare: bool | None,
    hang_after: float,
    on_hang: str,
    on_nan: str,
    rollbacks: int,
    on_oom: str,
) -> tuple[RestartPolicy, HangPolicy]:
    if on_hang == "restart" and not restarts:
        raise click.UsageError("--on-hang restart also needs --restarts, for example --restarts 3.")
    shrinks, most_rollbacks = on_oom != "stop", rollbacks if on_nan == "rollback" else 0
    return (
        RestartPolicy(
            restarts, on_hang != "kill", shrinks, on_oom == "precision", spare, most_rollbacks
        ),
        HangPolicy(hang_after, on_hang, replaces_workers=restarts > 0),
    )


supervision_options = option_group(
    "care",
    _care,
    option("--restarts", type=click.IntRange(min=0), default=0),
    option("--spare/--no-spare", default=None),
    option("--hang-after", type=quantities.SECONDS, default=HangPolicy.after_seconds),
    option("--on-hang", type=click.Choice(("warn", "kill", "restart")), default=HangPolicy.action),
    option("--on-nan", type=click.Choice(("warn", "rollback")), default="warn"),
    option("--rollbacks", type=click.IntRange(min=1), default=10),
    option("--on-oom", type=click.Choice(("stop", "shrink", "precision")), default="stop"),
)


def _policy(
    signals: tuple[tuple[Signals, Action], ...],
    kill_after: float | None,
    preemption: str,
    on_pressure: str,
) -> StopPolicy:
    return StopPolicy(
        preemption=preemption,
        stops_under_pressure=on_pressure == "stop",
        signals=dict(signals),  # the last one of a signal wins
        kill_after_seconds=kill_after,
    )


stop_options = option_group(
    "stops",
    _policy,
    option("--signal", "signals", type=quantities.SIGNAL_ACTION, multiple=True),
    option("--kill-after", type=quantities.SECONDS),
    option("--preemption", type=click.Choice(PREEMPTION_CHOICES), default="auto"),
    option("--on-pressure", type=click.Choice(("warn", "stop")), default="warn"),
)


class Retention(Frozen):
    """The values of the options; None or nothing where they are not given."""

    keep: int | None
    keep_every: float | None
    keep_best: tuple[BestRule, ...]

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        said: dict[str, Any] = {"keep_last": self.keep, "keep_every_seconds": self.keep_every}
        given = {name: value for name, value in said.items() if value is not None}
        return replace(policy, **given, keep_best=self.keep_best or policy.keep_best)


retention_options = option_group(
    "retention",
    Retention,
    option("--keep", type=click.IntRange(min=1)),
    option("--keep-every", type=quantities.SECONDS),
    option("--keep-best", type=quantities.BEST_RULE, multiple=True),
)
