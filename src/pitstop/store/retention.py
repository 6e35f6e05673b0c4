"""Which checkpoints are kept: a pure choice over their manifests."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.store.manifest import Manifest


@dataclass(frozen=True)
class RetentionPolicy:
    """Keep the `keep_last` newest checkpoints, and all milestones.

    The newest is kept whatever `keep_last` says.
    """

    keep_last: int = 3


def choose_expired(manifests: Iterable[Manifest], policy: RetentionPolicy) -> frozenset[int]:
    """Sequence numbers of the checkpoints that the policy gives up."""
    all_manifests = tuple(manifests)
    sequences = {manifest.sequence for manifest in all_manifests}
    newest = heapq.nlargest(max(policy.keep_last, 1), sequences)
    milestones = {manifest.sequence for manifest in all_manifests if manifest.info.milestone}
    return frozenset(sequences - milestones - set(newest))
