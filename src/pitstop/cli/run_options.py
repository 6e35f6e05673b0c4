"""The options of `pitstop run`, in groups: for the trainer, for stops, for failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pitstop.cli.option_group import option_group
from pitstop.cli.quantities import (
    BEST_RULE,
    BYTES,
    FLIGHT,
    INTERVAL,
    SECONDS,
    SHARE,
    SIGNAL_ACTION,
    Interval,
)
from pitstop.engine.weights_file import identify
from pitstop.link.settings import Settings
from pitstop.record import record
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.restarts.restarts import RestartPolicy
from pitstop.supervisor.runs.run_request import PREEMPTION_CHOICES, StopPolicy
from pitstop.supervisor.stops.signals import chosen_actions


def _settings(*, every: Interval, on_stop: str, weights: Path | None, **members: Any) -> Settings:
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
    click.option(
        "--from",
        "weights",
        type=click.Path(path_type=Path),
        help="Begin a new run with saved weights: .keras, .weights.h5, .safetensors, a SavedModel, "
        "or a checkpoint of TensorFlow.",
    ),
    click.option(
        "--take",
        multiple=True,
        metavar="NAME|all",
        help="Go on with the script's value of this hyperparameter (learning_rate, epochs, ...), "
        "not with the saved one; also where the command has changed.",
    ),
    click.option("--force", is_flag=True, help="Continue where a difference would make it refuse."),
    click.option(
        "--deterministic",
        is_flag=True,
        help="Let TensorFlow use deterministic ops only, as `enable_op_determinism` does: slower "
        "on a GPU, and the script must set a seed.",
    ),
    click.option(
        "--every",
        type=INTERVAL,
        default=Interval(),
        help="A durable checkpoint every so often: 500steps, 10min.  [default: by cost]",
    ),
    click.option(
        "--overhead",
        type=SHARE,
        default=Settings.overhead,
        help="Share of the training time that Pitstop may cost.  [default: 1%]",
    ),
    click.option(
        "--on-stop",
        type=click.Choice(("exit", "return")),
        default="exit",
        help="What a stop does in the script, once its state is saved: exit there, or return from "
        "`fit` and go on behind it, training no more.  [default: exit]",
    ),
    click.option(
        "--snapshot-memory",
        "snapshot_memory_bytes",
        type=BYTES,
        default=0,
        help="The most memory that snapshots may take: 2GB.  [default: half of what is free]",
    ),
    click.option(
        "--input",
        "input_mode",
        type=click.Choice(("auto", "native", "replay")),
        default=Settings.input_mode,
        help="How the place in the input is saved: the state of its iterator, or a count of "
        "batches that are drawn again.  [default: auto, by cost]",
    ),
    click.option(
        "--on-bad-record",
        type=click.Choice(("fail", "skip")),
        default=Settings.on_bad_record,
        help="What to do where a record of a tf.data pipeline cannot be read or decoded: fail as "
        "the script does, or leave its batch out.  Ten batches at most, or one in ten; the numbers "
        "are others then.  [default: fail]",
    ),
    click.option(
        "--flight",
        "flight_seconds",
        type=FLIGHT,
        default=Settings.flight_seconds,
        help="How often the flight recorder notes memory, processors, disks and the input, or "
        "`off`.  [default: 1s]",
    ),
    click.option(
        "--halt-at-step",
        type=click.IntRange(min=0),
        default=0,
        help="Stop, saved, after this step of the run.  [default: train to the end]",
    ),
    click.option("--die-at-step", type=click.IntRange(min=0), default=0, hidden=True),
)
"""Adds these options; the command gets `Settings`."""


@record
class SupervisionOptions:
    """What the options ask for: how often to start again, and what a standstill is."""

    restarts: RestartPolicy
    hang: HangPolicy
    rollbacks: int


def _care(
    restarts: int,
    spare: bool | None,
    hang_after: float,
    on_hang: str,
    on_nan: str,
    rollbacks: int,
    on_oom: str,
) -> SupervisionOptions:
    if on_hang == "restart" and not restarts:
        raise click.UsageError("--on-hang restart needs a number of restarts: --restarts 3.")
    return SupervisionOptions(
        RestartPolicy(restarts, on_hang != "kill", on_oom == "shrink", spare),
        HangPolicy(hang_after, on_hang, replaces_workers=restarts > 0),
        rollbacks if on_nan == "rollback" else 0,
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
        "--spare/--no-spare",
        default=None,
        help="With --restarts: keep a process ready that has imported the libraries, so that the "
        "next attempt begins seconds earlier.  It takes some hundred MB.  [default: where "
        "processors are idle soon, else after some minutes]",
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
    click.option(
        "--on-nan",
        type=click.Choice(("warn", "rollback")),
        default="warn",
        help="What to do about a loss or weights that are NaN or infinite, besides saying so: go "
        "back to the last checkpoint with finite weights, and leave the batch out or lower the "
        "learning rate.  The numbers are others then.  [default: warn]",
    ),
    click.option(
        "--rollbacks",
        type=click.IntRange(min=1),
        default=10,
        help="How often a run goes back at most with --on-nan rollback.  [default: 10]",
    ),
    click.option(
        "--on-oom",
        type=click.Choice(("stop", "shrink")),
        default="stop",
        help="What to do when a training step runs out of memory: go on from the state before it "
        "with smaller buffers of the input, which has the same bits; then "
        "compute each batch in 2, 4, ... parts, whose gradients are added up and applied "
        "once.  Equal up to rounding, apart from layers that the level names.  [default: stop]",
    ),
)
"""Adds these options; the command gets `SupervisionOptions`."""


def _policy(
    signals: tuple[str, ...],
    kill_after: float | None,
    preemption: str,
    on_pressure: str,
) -> StopPolicy:
    return StopPolicy(
        preemption=preemption,
        stops_under_pressure=on_pressure == "stop",
        signals=chosen_actions(signals),
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
        "--on-pressure",
        type=click.Choice(("warn", "stop")),
        default="warn",
        help="What to do when memory or disk gets short, besides saving what was trained.  "
        "[default: warn]",
    ),
)
"""Adds --signal, --kill-after, --preemption and --on-pressure; the command gets a `StopPolicy`."""


@record
class Retention:
    """What the options say; None or nothing where they say nothing."""

    keep: int | None
    keep_every: float | None
    keep_best: tuple[BestRule, ...]

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        """The policy, but for what these options say."""
        said: dict[str, Any] = {"keep_last": self.keep, "keep_every_seconds": self.keep_every}
        given = {name: value for name, value in said.items() if value is not None}
        return replace(policy, **given, keep_best=self.keep_best or policy.keep_best)


retention_options = option_group(
    "retention",
    Retention,
    click.option(
        "--keep",
        type=click.IntRange(min=1),
        help="How many of the newest checkpoints to keep.  [default: 3]",
    ),
    click.option(
        "--keep-every",
        type=SECONDS,
        help="Keep the first checkpoint of every such span of time too: 6h.",
    ),
    click.option(
        "--keep-best",
        type=BEST_RULE,
        multiple=True,
        help="Keep the best by a metric of the epochs too: val_loss:3, val_accuracy, bleu:max:2; "
        "may be given several times.",
    ),
)
"""Adds --keep, --keep-every and --keep-best; the command gets a `Retention`."""
