"""Which checkpoints are kept: a pure choice over their manifests."""

import contextlib
import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from pitstop.errors import RunFolderUnwritable
from pitstop.machine.regular_file import read_regular
from pitstop.record import Frozen, build
from pitstop.store.best_rule import BestRule, parse_best_rule
from pitstop.store.disk_fault import explained
from pitstop.store.filesystem import replace_file
from pitstop.store.format import parsed
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import RunFolder

_MOST_INTERRUPTED = 3
_TENSORS = re.compile(r"tensors(?:-(\d+))?\.safetensors$")
RETENTION_FILE = "retention.json"
_Rule: TypeAlias = Annotated[BestRule, lambda _, text: parse_best_rule(text)]


class RetentionPolicy(Frozen):
    """What is kept; everything that no rule names is removed.

    Always kept are the newest checkpoint, the newest one whose weights are finite, and the newest
    one that shares no bytes with the newest.  So are the ends of fits, the named ones, and the
    newest of each of the last trainings that were left in their middle.  `keep_every_seconds`: the
    oldest of each span of this length is kept; spans count from the epoch; 0 for none.
    """

    keep_last: int = 3
    keep_every_seconds: float = 0.0
    keep_best: tuple[_Rule, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "keep_best": [str(rule) for rule in self.keep_best]}


def choose_expired(manifests: Iterable[Manifest], policy: RetentionPolicy) -> frozenset[int]:
    all_manifests = tuple(manifests)
    kept = why_kept(all_manifests, policy)
    return frozenset(manifest.sequence for manifest in all_manifests) - kept.keys()


def why_kept(
    manifests: Iterable[Manifest], policy: RetentionPolicy
) -> Mapping[int, tuple[str, ...]]:
    """By sequence number of what is kept, the reasons, most lasting first."""
    ordered = sorted(manifests, key=lambda manifest: manifest.sequence)
    reasons: dict[int, list[str]] = {}
    for sequence, reason in _claims(ordered, policy):
        reasons.setdefault(sequence, []).append(reason)
    return {sequence: tuple(dict.fromkeys(given)) for sequence, given in reasons.items()}


def _claims(ordered: Sequence[Manifest], policy: RetentionPolicy) -> Iterator[tuple[int, str]]:
    for manifest in ordered:
        if manifest.info.name:
            yield manifest.sequence, "named"
        if manifest.info.milestone:
            yield manifest.sequence, manifest.info.milestone
    for rule in policy.keep_best:
        for sequence in _best(ordered, rule):
            yield sequence, f"best {rule.metric}"
    for sequence in _oldest_of_each_span(ordered, policy.keep_every_seconds):
        yield sequence, "span"
    sequences = {manifest.sequence for manifest in ordered}
    newest = heapq.nlargest(max(policy.keep_last, 1), sequences)
    yield from ((sequence, "newest") for sequence in newest)
    yield from ((sequence, "finite") for sequence in _newest_finite(ordered))
    yield from ((sequence, "independent") for sequence in _newest_independent(ordered))
    yield from ((sequence, "interrupted") for sequence in _interrupted(ordered))


def _best(ordered: Sequence[Manifest], rule: BestRule) -> frozenset[int]:
    # One number may stand for several folders, such as a copy; it counts once.
    values = {
        manifest.sequence: manifest.info.metrics[rule.metric]
        for manifest in ordered
        if rule.metric in manifest.info.metrics
    }
    return rule.choose(values.items())


def _oldest_of_each_span(ordered: Sequence[Manifest], span_seconds: float) -> frozenset[int]:
    if not span_seconds:
        return frozenset()
    # By number, not by time: a clock that was set back does not change who came first.
    oldest: dict[float, int] = {}
    for manifest in ordered:
        oldest.setdefault(manifest.info.created_seconds // span_seconds, manifest.sequence)
    return frozenset(oldest.values())


def _interrupted(ordered: Sequence[Manifest]) -> list[int]:
    """The newest states of trainings that have not ended, and that others came after."""
    newest = {manifest.info.fit: manifest for manifest in ordered}
    open_ended = (each.sequence for each in newest.values() if not each.info.milestone)
    return heapq.nlargest(
        _MOST_INTERRUPTED, (each for each in open_ended if each != ordered[-1].sequence)
    )


def _newest_finite(ordered: Sequence[Manifest]) -> list[int]:
    if not ordered or not ordered[-1].info.non_finite:
        return []
    return [each.sequence for each in ordered if not each.info.non_finite][-1:]


def _newest_independent(ordered: Sequence[Manifest]) -> list[int]:
    """The newest checkpoint that shares no file, and so no bad sector, with the newest of all."""
    if not ordered:
        return []
    newest = ordered[-1]
    shared = tensors_files(newest)
    others = (each for each in reversed(ordered) if each.sequence != newest.sequence)
    return [each.sequence for each in others if not tensors_files(each) & shared][:1]


def tensors_files(manifest: Manifest) -> frozenset[int]:
    """Numbers of the checkpoints that wrote the tensors files of this one."""
    matches = (_TENSORS.match(name) for name in manifest.files)
    return frozenset(int(found[1] or manifest.sequence) for found in matches if found)


def write_policy(folder: RunFolder, attempt: int, policy: RetentionPolicy) -> None:
    path = folder.attempt_dir(attempt) / RETENTION_FILE
    with explained(f"{path} cannot be written", RunFolderUnwritable):
        replace_file(path, json.dumps(policy.to_json()).encode() + b"\n")


def last_policy(folder: RunFolder) -> RetentionPolicy:
    """The policy of the last attempt that has one, else the usual one."""
    for attempt in reversed(folder.attempts()):
        path = folder.attempt_dir(attempt) / RETENTION_FILE
        with contextlib.suppress(OSError, ValueError):
            return build(RetentionPolicy, "retention", parsed(read_regular(path)))
    return RetentionPolicy()
