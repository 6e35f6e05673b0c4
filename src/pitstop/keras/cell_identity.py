"""What a `fit` in a notebook's cell is, beyond what it is in a script."""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pitstop.engine.described import digest_of_text
from pitstop.engine.identity import Identity
from pitstop.engine.reached_code import digests_of_code
from pitstop.keras import fit_identity


def left_of(began: Identity, model: Any, callbacks: list[Any]) -> Identity:
    """A training's identity, with its model and callbacks as they are now."""
    moved = fit_identity.moving_settings_of(model, callbacks)
    weights = fit_identity.weights_of(model)
    return replace(
        began,
        settings={**began.settings, **moved},
        architecture=fit_identity.architecture_of(model),
        random={**began.random, fit_identity.FIRST_WEIGHTS: weights},
    )


def digests_of_data(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Of pipelines: the values that their stages are made with, such as names of files."""
    # Where the script gives no seeds, they are others each time.
    found = fit_identity.stage_values(arguments, seeds=False)
    return {"the pipeline": digest_of_text(*found)} if found else {}


def reached_from(
    codes: Collection[types.CodeType], model: Any, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Digests of the notebook's own code that a `fit` runs, by name."""
    called = [
        each if isinstance(each, types.FunctionType | types.GeneratorType) else type(each)
        for each in fit_identity.called_by(model, arguments)
    ]
    return digests_of_code(codes, called)
