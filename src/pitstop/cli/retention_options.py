"""The options that say which checkpoints are kept; the same wherever they are given up."""

from __future__ import annotations

from dataclasses import replace

import click

from pitstop.cli.option_group import option_group
from pitstop.cli.quantities import BEST_RULE, SECONDS
from pitstop.record import record
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RetentionPolicy


@record
class Retention:
    """What the options say; None or nothing where they say nothing."""

    keep: int | None
    keep_every: float | None
    keep_best: tuple[BestRule, ...]

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        """The policy, but for what these options say."""
        every_seconds = policy.keep_every_seconds if self.keep_every is None else self.keep_every
        return replace(
            policy,
            keep_last=policy.keep_last if self.keep is None else self.keep,
            keep_every_seconds=every_seconds,
            keep_best=self.keep_best or policy.keep_best,
        )


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
