"""The options of `pitstop run`, in groups: for the trainer, for stops, for failures."""

from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any

import click

from pitstop.cli import quantities
from pitstop.cli.grouped_command import option_group
from pitstop.engine.weights_file import identify
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
    click.option(
        "--from",
        "weights",
        type=click.Path(path_type=Path),
        help="Start a new run from saved weights: .keras, .weights.h5, .safetensors, a "
        "SavedModel, or a TensorFlow checkpoint.",
    ),
    click.option(
        "--take",
        multiple=True,
        metavar="NAME|all",
        help="Resume with the script's value of this hyperparameter (learning_rate, epochs, ...) "
        "instead of the saved one, also if the command has changed.",
    ),
    click.option("--force", is_flag=True, help="Resume even if a difference would prevent it."),
    click.option(
        "--deterministic",
        is_flag=True,
        help="Make TensorFlow use only deterministic ops, as `enable_op_determinism` does: "
        "slower on a GPU, and the script must set a seed.",
    ),
    click.option(
        "--every",
        type=quantities.INTERVAL,
        default=quantities.Interval(),
        help="Interval between durable checkpoints: 500steps, 10min.  [default: by cost]",
    ),
    click.option(
        "--overhead",
        type=quantities.SHARE,
        default=Settings.overhead,
        help="Maximum share of the training time that Pitstop may use.  [default: 1%]",
    ),
    click.option(
        "--on-stop",
        type=click.Choice(("exit", "return")),
        default="exit",
        help="What the script does after a stop has saved its state: exit, or return from `fit` "
        "and continue without further training.  [default: exit]",
    ),
    click.option(
        "--snapshot-memory",
        "snapshot_memory_bytes",
        type=quantities.BYTES,
        default=0,
        help="Maximum memory for snapshots: 2GB.  [default: half of the free memory]",
    ),
    click.option(
        "--input",
        "input_mode",
        type=click.Choice(("auto", "native", "replay")),
        default=Settings.input_mode,
        help="How to save the input position: as the iterator's state, or as the number of "
        "batches to read again.  [default: auto, by cost]",
    ),
    click.option(
        "--on-bad-record",
        type=click.Choice(("fail", "skip")),
        default=Settings.on_bad_record,
        help="What to do if a tf.data pipeline cannot read or decode a record: fail, or skip its "
        "batch (at most ten batches, or one in ten).  Skipping changes the results.  [default: "
        "fail]",
    ),
    click.option(
        "--flight",
        "flight_seconds",
        type=quantities.FLIGHT,
        default=Settings.flight_seconds,
        help="How often the flight recorder samples memory, processors, disks and the input, or "
        "`off`.  [default: 1s]",
    ),
    click.option(
        "--halt-at-step",
        type=click.IntRange(min=0),
        default=0,
        help="Save and stop after this step of the run.  [default: train to the end]",
    ),
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
    click.option(
        "--restarts",
        type=click.IntRange(min=0),
        default=0,
        help="Maximum number of restarts after failures that a retry can fix.  [default: 0]",
    ),
    click.option(
        "--spare/--no-spare",
        default=None,
        help="With --restarts: keep a process ready that has already imported the libraries, so "
        "that a restart is seconds faster.  It takes a few hundred MB.  [default: when "
        "processors are idle, or else after some minutes]",
    ),
    click.option(
        "--hang-after",
        type=quantities.SECONDS,
        default=HangPolicy.after_seconds,
        help="Minimum time without progress that counts as a hang; longer if steps are slow.  "
        "[default: 60s; 0: do not watch]",
    ),
    click.option(
        "--on-hang",
        type=click.Choice(("warn", "kill", "restart")),
        default=HangPolicy.action,
        help="What to do about a hang after recording all stacks; `restart` uses one of "
        "--restarts.  [default: warn]",
    ),
    click.option(
        "--on-nan",
        type=click.Choice(("warn", "rollback")),
        default="warn",
        help="What to do if the loss or weights become NaN or infinite: warn only, or go back to "
        "the last checkpoint with finite weights and skip the batch, lower the learning rate, or "
        "clip gradients.  A rollback changes the results.  [default: warn]",
    ),
    click.option(
        "--rollbacks",
        type=click.IntRange(min=1),
        default=10,
        help="Maximum number of rollbacks with --on-nan rollback.  [default: 10]",
    ),
    click.option(
        "--on-oom",
        type=click.Choice(("stop", "shrink", "precision")),
        default="stop",
        help="What to do if a training step runs out of memory.  `shrink` repeats the step with "
        "smaller input buffers, which does not change the results; if that is not enough, it "
        "computes each batch in 2, 4, ... parts and applies the sum of their gradients once: "
        "equal up to rounding, except for layers that the resume level lists.  `precision` sets "
        "the Keras policy mixed_bfloat16 before it computes parts, which changes the results.  "
        "[default: stop]",
    ),
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
    click.option(
        "--signal",
        "signals",
        type=quantities.SIGNAL_ACTION,
        multiple=True,
        help="What `pitstop run` does on a signal: stop, now, checkpoint or ignore.  [default: "
        "HUP=stop INT=stop TERM=stop USR1=stop USR2=checkpoint]",
    ),
    click.option(
        "--kill-after",
        type=quantities.SECONDS,
        help="Time between SIGTERM and the SIGKILL that follows.  [default: value of `timeout "
        "-k`; 30s in Kubernetes; else unknown]",
    ),
    click.option(
        "--preemption",
        type=click.Choice(PREEMPTION_CHOICES),
        default="auto",
        help="Cloud to ask for preemption notices.  [default: auto, the cloud that the machine's "
        "firmware names]",
    ),
    click.option(
        "--on-pressure",
        type=click.Choice(("warn", "stop")),
        default="warn",
        help="What to do, after saving, when memory or disk space runs low.  [default: warn]",
    ),
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
    click.option(
        "--keep",
        type=click.IntRange(min=1),
        help="Number of newest checkpoints to keep.  [default: 3]",
    ),
    click.option(
        "--keep-every",
        type=quantities.SECONDS,
        help="Also keep the first checkpoint of each period of this length: 6h.",
    ),
    click.option(
        "--keep-best",
        type=quantities.BEST_RULE,
        multiple=True,
        help="Also keep the best checkpoints by an epoch metric: val_loss:3, val_accuracy, "
        "bleu:max:2; can be repeated.",
    ),
)
