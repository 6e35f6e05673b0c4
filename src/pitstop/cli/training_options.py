"""The options that the training process itself obeys."""

from __future__ import annotations

from pathlib import Path

import click

from pitstop.cli.option_group import option_group
from pitstop.cli.quantities import BYTES, FLIGHT, INTERVAL, SHARE, Interval
from pitstop.engine.weights_file import identify
from pitstop.link.settings import Settings


def _settings(
    *,
    start_from: Path | None,
    every: Interval,
    overhead: float,
    on_stop: str,
    snapshot_memory: int,
    input_mode: str,
    flight: float,
    halt_at_step: int,
    die_at_step: int,
    take: tuple[str, ...],
    force: bool,
    deterministic: bool,
) -> Settings:
    return Settings(
        overhead=overhead,
        every_steps=every.steps,
        every_seconds=every.seconds,
        snapshot_memory_bytes=snapshot_memory,
        input_mode=input_mode,
        take=take,
        force=force,
        deterministic=deterministic,
        halt_at_step=halt_at_step,
        die_at_step=die_at_step,
        stop_returns=on_stop == "return",
        flight_seconds=flight,
        start_from=str(identify(start_from.resolve()).path) if start_from else "",
    )


training_options = option_group(
    "settings",
    _settings,
    click.option(
        "--from",
        "start_from",
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
        "--flight",
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
