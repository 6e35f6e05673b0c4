"""The cells of a kernel: which one runs, how it began, and its state after a stop."""

from __future__ import annotations

import ast
import hashlib
import types
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pitstop.notebook.random_begin import RandomBegin
from pitstop.record import Frozen

if TYPE_CHECKING:
    from pitstop.engine.trainings.identity import Identity
    from pitstop.engine.trainings.trainings import Trainings


class StoppedFit(Frozen):
    """A training as it began, and its objects as the stop of its cell has left them."""

    number: int
    identity: Identity
    left: Identity


@dataclass(frozen=True)
class _Begun:
    """A training that a cell has begun; the user's objects may be gone before it ends."""

    number: int
    identity: Identity
    model: Callable[[], Any]
    callbacks: list[Callable[[], Any]]
    data: dict[str, Callable[[], Any]]


@dataclass
class _Execution:
    """One run of a cell; `before` is a digest of it and of all that ran before it."""

    text: str = ""
    codes: tuple[types.CodeType, ...] = ()
    before: str = ""
    begun: list[_Begun] = field(default_factory=list)
    reopenable: list[StoppedFit] = field(default_factory=list)


class NotebookCells:
    """What `%load_ext pitstop` learns of each cell, before it runs and at its end.

    A cell that was ended by a stop does not count as run: when it is run again, it begins with the
    same random streams, and may continue its trainings.
    """

    def __init__(self, transform: Callable[[str], str], random: RandomBegin) -> None:
        self._transform = transform
        self._random = random
        self._running: list[_Execution] = []
        self._ended: Counter[str] = Counter()
        self._texts: set[str] = set()
        self._stopped: dict[str, tuple[list[StoppedFit], Any]] = {}

    def enter(self, raw: str) -> None:
        text, codes = _understood(raw, self._transform)
        self._texts.add(text)
        fits, streams = self._stopped.get(text, ([], None))
        before = _digest(*sorted(self._texts))
        self._running.append(_Execution(text, codes, before, reopenable=list(fits)))
        self._random.begin(f"{_digest(text)}/{self._ended[text]}", streams)

    def begin_anew(self) -> None:
        self._stopped.clear()
        if self._running:
            cell = self._running[-1]
            cell.reopenable.clear()
            self._random.begin(f"{_digest(cell.text)}/{self._ended[cell.text]}", None)

    def leave(self, *, succeeded: bool) -> None:
        if not self._running:
            return
        text = self._running.pop().text
        if succeeded:
            self._ended[text] += 1
            self._stopped.pop(text, None)

    def stopped(self) -> None:
        from pitstop.keras.fits.fit_identity import left_of, reached_from  # noqa: PLC0415

        if not self._running:
            return
        cell = self._running[-1]
        fits = []
        for begun in cell.begun:
            model, began = begun.model(), begun.identity
            if model is not None:
                callbacks = [each for it in begun.callbacks if (each := it()) is not None]
                data = {name: reference() for name, reference in begun.data.items()}
                # A list that a function names has been filled since.
                reached = reached_from(cell.codes, model, {"callbacks": callbacks})
                left = left_of(began, model, callbacks, data)
                left = replace(left, cells={**began.cells, **reached})
                fits.append(StoppedFit(begun.number, began, left))
        self._stopped[cell.text] = (fits, self._random.streams)

    # -- what makes a training what it is -----------------------------------------------

    def among(
        self, model: Any, arguments: Mapping[str, Any], identity: Identity, trainings: Trainings
    ) -> Identity:
        """The identity of a `fit` in the cell that runs, as it began if a stop has ended it."""
        from pitstop.keras.fits.fit_identity import digests_of_data, reached_from  # noqa: PLC0415

        cell = self._running[-1] if self._running else _Execution()
        cells = {"this cell": _digest(cell.text), **digests_of_data(arguments)}
        if not identity.digested and _is_made_by_code(arguments):
            cells["the cells before it"] = cell.before
        identity = replace(identity, cells={**cells, **reached_from(cell.codes, model, arguments)})
        for each in cell.reopenable:
            trainings.reopen(each.number)
        for each in cell.reopenable:
            if _goes_on(identity, each):
                cell.reopenable.remove(each)
                began = each.identity
                return replace(
                    identity,
                    cells=began.cells,
                    data=began.data,
                    settings=began.settings,
                    architecture=began.architecture,
                    random=began.random,
                )
        return identity

    def begins(
        self, model: Any, arguments: Mapping[str, Any], number: int, identity: Identity
    ) -> None:
        from pitstop.keras.fits.fit_identity import DATA  # noqa: PLC0415

        callbacks = arguments.get("callbacks")
        listed = callbacks if isinstance(callbacks, list | tuple) else ()
        if self._running:
            data = {name: _reference(arguments[name]) for name in DATA if name in arguments}
            references = [_reference(each) for each in listed]
            begun = _Begun(number, identity, _reference(model), references, data)
            self._running[-1].begun.append(begun)


def _digest(*texts: str) -> str:
    # Not `engine.described`, which loads NumPy: the first cell would wait for it.
    return hashlib.blake2b("\0".join(texts).encode(errors="replace"), digest_size=8).hexdigest()


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None


def _goes_on(now: Identity, fit: StoppedFit) -> bool:
    """Whether all is as when the training began, or as it was at the stop."""
    began, left = fit.identity, fit.left
    return began.seed == now.seed and all(
        mapping.get(name) in (before.get(name), then.get(name))
        for mapping, before, then in (
            (now.cells, began.cells, left.cells),
            (now.data, began.data, left.data),
            (now.settings, began.settings, left.settings),
            (now.architecture, began.architecture, left.architecture),
            (now.random, began.random, left.random),
        )
        for name in mapping.keys() | before.keys() | then.keys()
    )


def _is_made_by_code(arguments: Mapping[str, Any]) -> bool:
    """Whether the data are made by code that cannot be reached: a generator, a pipeline."""
    data = [arguments.get("x"), arguments.get("validation_data")]
    return any(each is not None and not hasattr(type(each), "__getitem__") for each in data)


def _understood(
    raw: str, transform: Callable[[str], str]
) -> tuple[str, tuple[types.CodeType, ...]]:
    """A cell as text that neither layout nor comments change, and its code."""
    sources = [raw, raw.partition("\n")[2]] if raw.lstrip().startswith("%%") else [raw]
    texts, codes = [], []
    for source in sources:
        try:
            tree = ast.parse(transform(source))
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            codes.append(compile(tree, "<cell>", "exec", flags, dont_inherit=True))
            texts.append(ast.dump(tree))
        except (SyntaxError, ValueError):
            # Of another language, or one that its own magic reads.
            texts.append(source)
    return "\n".join(texts), tuple(codes)
