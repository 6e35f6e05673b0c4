"""Whether an answer is right, and how often a contender's are.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from benchmarks.faults.baselines import Answer
from benchmarks.faults.scenario import Scenario
from pitstop.diagnosis.finding import CauseId

HONEST: frozenset[CauseId] = frozenset({"unknown", "killed_from_outside"})
"""Answers that accuse nobody."""

Kind = Literal["right", "without detail", "honest", "missed", "false"]


@dataclass(frozen=True)
class Verdict:
    """One answer to one scenario.

    Attributes:
        scenario: its name.
        look_alikes: the set that it belongs to, or empty.
        kind: right; the right cause without the detail that tells it from its look-alikes; a
            more general answer that is not wrong; a fault that was not noticed; or a false
            accusation.
    """

    scenario: str
    look_alikes: str
    kind: Kind


@dataclass(frozen=True)
class Score:
    """What a contender reached.

    Attributes:
        asked: how many scenarios.
        top_1: of them the right cause.
        detailed: of them with the detail that matters.
        false_accusations: of them the wrong cause.
        sets: sets of look-alikes.
        sets_right: of them without a mistake in the cause.
        pairs: scenarios in these sets.
        pairs_right: of them the right cause and detail.
    """

    asked: int
    top_1: int
    detailed: int
    false_accusations: int
    sets: int
    sets_right: int
    pairs: int
    pairs_right: int


def judge(scenario: Scenario, answer: Answer, words: str = "") -> Verdict:
    """Compares an answer with what is right; `words` is the whole report."""
    return Verdict(scenario.name, scenario.look_alikes, _kind(scenario, answer, words))


def _kind(scenario: Scenario, answer: Answer, words: str) -> Kind:
    if answer & scenario.accepts:
        tells = re.search(scenario.says, words, re.IGNORECASE | re.DOTALL)
        return "right" if tells else "without detail"
    if answer <= HONEST:
        return "honest"
    if answer == {"completed_normally"}:
        return "missed"
    return "false"


def words_of(report: Mapping[str, Any]) -> str:
    """Everything that a report says of the cause: summary, evidence, chain."""
    items = (*report.get("evidence", ()), *report.get("chain", ()))
    return "\n".join([str(report.get("summary", "")), *(str(item["text"]) for item in items)])


def score(verdicts: Iterable[Verdict]) -> Score:
    """The counts over all scenarios."""
    known = list(verdicts)
    right = [each for each in known if each.kind in ("right", "without detail")]
    paired = sorted((each for each in known if each.look_alikes), key=lambda each: each.look_alikes)
    sets = [list(group) for _, group in groupby(paired, key=lambda each: each.look_alikes)]
    return Score(
        asked=len(known),
        top_1=len(right),
        detailed=sum(each.kind == "right" for each in known),
        false_accusations=sum(each.kind == "false" for each in known),
        sets=len(sets),
        sets_right=sum(all(each.kind == "right" for each in group) for group in sets),
        pairs=len(paired),
        pairs_right=sum(each.kind == "right" for each in paired),
    )
