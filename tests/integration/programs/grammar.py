"""What a program of the generator is made of; which parts fit together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.integration.programs.places import PLACES
from tests.integration.programs.trainings import TRAININGS
from tests.integration.programs.values import MADE_PLAIN_BY_KERAS, VALUES

MODELS = ("dense", "dropout", "normalised", "eager_counter", "late")
DRAWS = "noisy"
"""A model whose training and validation draw by stateful random ops."""
LOOP_MODELS = ("dense", DRAWS)
OPTIMIZERS = ("sgd", "adam", "schedule")
EVENTS = ("batch", "epoch")
EFFECTS = ("reported", "rate")
CALLBACKS = ("stopping", "plateau", "csv", "best", "schedule", "freeze", "swap_rate")
LOOP_DATA = "arrays"
NEED_VALIDATION = frozenset({"stopping", "plateau", "best"})
SET_THE_RATE = frozenset({"plateau", "schedule"})
SHARED_BETWEEN_FITS = frozenset(
    {"sample_weights", "tf_data_calls", "generator_shared", "dataset_global"}
)
"""Data that one training leaves to the next one in another state."""


@dataclass(frozen=True)
class Holder:
    """State of the script's own that changes while it trains.

    Attributes:
        place: where it is held, a name in `PLACES`.
        value: what it is, a name in `VALUES`.
        event: at the end of what it changes.
        effect: it is only reported, or the learning rate follows it.
    """

    place: str
    value: str
    event: str
    effect: str


@dataclass(frozen=True)
class Program:
    """One training script, where it is interrupted, and what changes before it goes on.

    Attributes:
        model: a name in `MODELS`, or `DRAWS`.
        optimizer: a name in `OPTIMIZERS`.
        data: a name in `DATA`.
        validation: a name in `VALIDATIONS`.
        training: a name in `TRAININGS`.
        holders: state of the script's own.
        callbacks: names in `CALLBACKS`.
        endings: how each attempt but the last ends.
        places: after which part of all steps, for each of the endings.
        every_steps: steps between two snapshots.
        change: a name in `CHANGES`: what differs in the last attempt.
        changes_early: it differs in the attempt before the last one too.
    """

    model: str = "dense"
    optimizer: str = "sgd"
    data: str = "arrays"
    validation: str = "none"
    training: str = "once"
    holders: tuple[Holder, ...] = ()
    callbacks: tuple[str, ...] = ()
    endings: tuple[str, ...] = ("kill",)
    places: tuple[float, ...] = (0.6,)
    every_steps: int = 3
    change: str = "nothing"
    changes_early: bool = False

    @property
    def steps(self) -> int:
        """Steps of the uninterrupted program, if no callback ends it before."""
        return TRAININGS[self.training].steps

    @property
    def interruptions(self) -> tuple[tuple[str, int], ...]:
        """How each attempt but the last ends, and at which step."""
        ordered = sorted(zip(self.places, self.endings, strict=True))
        return tuple((ending, 1 + int(place * (self.steps - 2))) for place, ending in ordered)


def fitted(program: Program) -> Program:
    """The same program without the parts that do not go with its others."""
    way = TRAININGS[program.training]
    fits = replace(
        program,
        holders=tuple(each for each in program.holders if _holder_fits(each, program)),
        change=program.change if program.change in way.changes else "nothing",
    )
    return _with_loop(fits) if way.loop else _with_fit(fits, way.separate)


def _with_loop(program: Program) -> Program:
    model = program.model if program.model in LOOP_MODELS else LOOP_MODELS[0]
    return replace(program, data=LOOP_DATA, validation="none", callbacks=(), model=model)


def _with_fit(program: Program, separate: bool) -> Program:
    data, validation = program.data, program.validation
    if separate:
        data = LOOP_DATA if data in SHARED_BETWEEN_FITS else data
        validation = "arrays" if validation == "generator" else validation
    if data == "arrays_split":
        validation = "none"
    callbacks = set(program.callbacks)
    if validation == "none" and data != "arrays_split":
        callbacks -= NEED_VALIDATION
    if program.optimizer == "schedule":
        callbacks -= SET_THE_RATE
    kept = tuple(each for each in program.callbacks if each in callbacks)
    return replace(program, data=data, validation=validation, callbacks=kept)


def _holder_fits(holder: Holder, program: Program) -> bool:
    way, place, value = TRAININGS[program.training], PLACES[holder.place], VALUES[holder.value]
    if way.separate and (not place.fresh or value.in_file):
        return False
    if way.loop and not place.in_loops:
        return False
    if program.optimizer == "schedule" and place.sets_rate:
        return False
    if holder.place == "model_attribute" and holder.value in MADE_PLAIN_BY_KERAS:
        return False
    return holder.event in place.events and (place.rebinds or not value.rebinds)
