"""The outcome of a bench as text: a table of contenders, and what went wrong.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.faults.judge import Score, Verdict

_HEAD = (
    "| | right cause | and the detail | sets of look-alikes without a mistake | within them "
    "| false accusations |"
)


def table(scores: Mapping[str, Score]) -> str:
    """One line for each contender."""
    lines = [_HEAD, "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_row(name, score) for name, score in scores.items())])


def _row(name: str, score: Score) -> str:
    cells = (
        _share(score.top_1, score.asked),
        _share(score.detailed, score.asked),
        f"{score.sets_right} of {score.sets}",
        _share(score.pairs_right, score.pairs),
        str(score.false_accusations),
    )
    return f"| {name} | {' | '.join(cells)} |"


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({100 * count / of:.0f} %)" if of else "-"


def mistakes(verdicts: Iterable[Verdict]) -> list[str]:
    """A line for each answer that is not right."""
    return [f"{each.scenario}: {each.kind}" for each in verdicts if each.kind != "right"]
