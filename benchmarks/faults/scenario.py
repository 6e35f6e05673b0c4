"""One scenario: what is done to which training, and what may be said of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.faults.ground import Preparation
from benchmarks.faults.strikes import Strike
from pitstop.diagnosis.finding import CauseId


@dataclass(frozen=True)
class Scenario:
    """A training and its fault.

    Attributes:
        name: number in the catalogue and a few words, "13-memory-limit".
        accepts: the causes that are right.
        says: a regular expression that the report must match, to tell it from its look-alikes.
        look_alikes: the set of scenarios that it is easily taken for one of; empty for none.
        script: below `scripts`.
        arguments: for the script.
        environment: for the script: `FAULT`, `FAULT_AT`, `FAULT_DATA`.
        options: for `pitstop run`.
        grounds: what it stands on, the outermost first.
        strike: what happens to it from outside, when it says that it is ready.
        not_run: why it cannot be injected at all; empty where it can.
        plain: whether it is run without Pitstop too.
        patience_seconds: after which the command is ended by the bench.
    """

    name: str
    accepts: frozenset[CauseId]
    says: str = ""
    look_alikes: str = ""
    script: str = "train.py"
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    grounds: tuple[Preparation, ...] = ()
    strike: Strike | None = None
    not_run: str = ""
    plain: bool = True
    patience_seconds: float = 150.0

    @property
    def is_healthy(self) -> bool:
        """Whether nothing went wrong."""
        return self.accepts == {"completed_normally"}


def scenario(
    name: str,
    *accepts: CauseId,
    args: str = "",
    fault: str = "",
    data: str = "",
    says: str = "",
    among: str = "",
    grounds: tuple[Preparation, ...] = (),
    strike: Strike | None = None,
) -> Scenario:
    """A scenario in one line.

    Args:
        name: see `Scenario`.
        accepts: see `Scenario`.
        args: for the script.
        fault: "leak@batch:12": what the script does to itself, and where.
        data: what is wrong with its input.
        says: see `Scenario`.
        among: the look-alikes.
        grounds: see `Scenario`.
        strike: see `Scenario`.
    """
    what, _, place = fault.partition("@")
    environment = {"FAULT": what, "FAULT_AT": place} if fault else {}
    return Scenario(
        name,
        frozenset(accepts),
        says,
        among,
        arguments=tuple(args.split()),
        environment=environment | ({"FAULT_DATA": data} if data else {}),
        grounds=grounds,
        strike=strike,
    )


def watched(found: Scenario, hang_after: str = "4s") -> Scenario:
    """With a watchdog that ends a training that stands still."""
    return replace(found, options=("--hang-after", hang_after, "--on-hang", "kill"))


def impossible(name: str, reason: str) -> Scenario:
    """One that cannot be injected on a machine like this."""
    return Scenario(name, frozenset(), not_run=reason)
