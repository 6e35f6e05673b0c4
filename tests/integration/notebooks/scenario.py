"""What happens to a notebook: kernels that die, cells that are edited, stopped and run again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.integration.notebooks.grammar import EDITS, EPOCH_STEPS, Cell, Notebook, drawn

_DEATHS = 8
_THEN = ("again", "again", "look, again", "built anew", "edited")


@dataclass(frozen=True)
class Run:
    """One run of a cell; `stop_at` is the step of its training at which it is interrupted."""

    cell: Cell
    stop_at: int = 0


@dataclass(frozen=True)
class Session:
    """The cells that one kernel is asked to run, and how it dies.

    Attributes:
        dies_in: the training in which it dies, and its step; ("", 0) for another death or none.
        dies_after: the part of an undisturbed session after which it dies; 0 for another or none.
        edit: what was done to the notebook since the session before.
    """

    runs: tuple[Run, ...]
    dies_in: tuple[str, int] = ("", 0)
    dies_after: float = 0.0
    edit: str = ""

    @property
    def undisturbed(self) -> Session:
        """The same without what must not make a difference."""
        return Session(tuple(_without_resumed_stops(self.runs)))


def _without_resumed_stops(runs: tuple[Run, ...]) -> Iterator[Run]:
    for at, run in enumerate(runs):
        later = [each.cell for each in runs[at + 1 : at + 3]]
        looked = later[:1] and not later[0].block
        if not run.stop_at or run.cell not in (later[: 2 if looked else 1]):
            yield run


def scenario(number: int) -> Iterator[Session]:
    """Each number stands for one, the same every time; its last kernel lives."""
    source = Random(number)
    first = notebook = drawn(source)
    runs = tuple(_runs(notebook, source))
    for death in range(_DEATHS + 1):
        edit = ""
        if death and source.random() < 0.3:
            edit = source.choice([*EDITS, "undone"])
            notebook = first if edit == "undone" else EDITS[edit](notebook, source)
            runs = tuple(_runs(notebook, source))
        session = Session(runs, edit=edit)
        yield _with_a_death(session, source) if death < _DEATHS else session


def _with_a_death(session: Session, source: Random) -> Session:
    if source.random() < 0.3:
        return replace(session, dies_after=source.random())
    cell = source.choice([run.cell for run in session.runs if run.cell.training])
    first = cell.steps - 2 * EPOCH_STEPS if cell.steps > 3 * EPOCH_STEPS else 1
    return replace(session, dies_in=(cell.training, source.randint(first, cell.steps)))


def _runs(notebook: Notebook, source: Random) -> Iterator[Run]:
    for at, cell in enumerate(notebook):
        if cell.training and source.random() < 0.3:
            yield from _stopped(notebook[:at], cell, source)
        yield Run(cell)


def _stopped(before: Notebook, cell: Cell, source: Random) -> Iterator[Run]:
    """The interrupt, and what is done before the cell is run again."""
    yield Run(cell, source.randint(1, cell.steps - 1))
    then = source.choice(_THEN)
    if then == "look, again":
        yield Run(Cell("np.random.rand(2)"))
    elif then == "built anew":
        for each in before:
            if each.block == cell.block:
                yield Run(each)
    elif then == "edited":
        yield Run(EDITS["epochs"]((cell,), source)[0])
