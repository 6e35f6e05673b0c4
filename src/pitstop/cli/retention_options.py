"""The options that say which checkpoints are kept; the same wherever they are given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from pitstop.cli.quantities import BEST_RULE, SECONDS
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RetentionPolicy

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
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


def retention_options(command: _F) -> _F:
    """Adds --keep, --keep-every and --keep-best to a command; see `with_options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def with_options(
    policy: RetentionPolicy,
    keep: int | None,
    keep_every: float | None,
    keep_best: tuple[BestRule, ...],
) -> RetentionPolicy:
    """The policy, but for what these options say.  `keep_every` in seconds."""
    return replace(
        policy,
        keep_last=policy.keep_last if keep is None else keep,
        keep_every_seconds=policy.keep_every_seconds if keep_every is None else keep_every,
        keep_best=keep_best or policy.keep_best,
    )
