"""Draws programs: each number stands for one, the same every time."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.integration.programs.grammar import (
    CALLBACKS,
    DRAWS,
    EFFECTS,
    EVENTS,
    MODELS,
    OPTIMIZERS,
    Holder,
    Program,
    fitted,
)
from tests.integration.programs.inputs import DATA, VALIDATIONS
from tests.integration.programs.places import PLACES
from tests.integration.programs.trainings import TRAININGS
from tests.integration.programs.values import VALUES

_MOST_HOLDERS, _MOST_CALLBACKS = 3, 2
_SHARE_OF_DRAWS = 0.15
_ENDINGS = (("kill",), ("kill",), ("kill",), ("stop",), ("kill", "kill"), ("kill", "stop"))


def program_of(number: int) -> Program:
    """A program whose parts go together."""
    source = Random(number)
    training = source.choice(sorted(TRAININGS))
    endings = source.choice(_ENDINGS)
    changed = source.random() < 0.5
    drawn = Program(
        model=source.choice(MODELS),
        optimizer=source.choice(OPTIMIZERS),
        data=source.choice(sorted(DATA)),
        validation=source.choice(sorted(VALIDATIONS)),
        training=training,
        holders=tuple(_holder(source) for _ in range(source.randint(0, _MOST_HOLDERS))),
        callbacks=tuple(source.sample(CALLBACKS, source.randint(0, _MOST_CALLBACKS))),
        endings=endings,
        places=tuple(round(source.random(), 2) for _ in endings),
        every_steps=source.randint(1, 5),
        change=source.choice(TRAININGS[training].changes) if changed else "nothing",
        changes_early=len(endings) > 1 and source.random() < 0.5,
    )
    draws = source.random() < _SHARE_OF_DRAWS
    return fitted(replace(drawn, model=DRAWS) if draws else drawn)


def _holder(source: Random) -> Holder:
    return Holder(
        place=source.choice(sorted(PLACES)),
        value=source.choice(sorted(VALUES)),
        event=source.choice(EVENTS),
        effect=source.choice(EFFECTS),
    )
