"""What a run does after a rollback: it leaves out batches, and checks the weights."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pitstop.engine.fence import observing
from pitstop.events import BatchSkipped, Notice
from pitstop.keras.packages import private_of, public
from pitstop.tensorflow.finiteness import Finiteness, look, parts_of
from pitstop.tensorflow.variables.naming import path_of, value_of

_MOST_BYTES = 64 << 20


def passes_over(run: Any, stride: int) -> bool:
    """Leaves out the batches of the next call, of `stride` steps, if one of them is to be skipped.

    Returns whether they were left out.
    """
    skips = run.session.settings.skip_steps
    if not skips:
        return False
    steps = run.position.next_steps(stride)
    if not any(step in steps for step in skips):
        return False
    for step in steps:
        batch = next(run.input.iterator, None)
        if batch is not None:
            _tell(run, step, batch)
    run.numbers.forget()
    return True


@observing()
def _tell(run: Any, step: int, batch: Any) -> None:
    parts = tensors_of(run.model, batch)
    looked = (look(name, each) for name, each in parts)
    found = [f"{each.name}: {each.bad_words}" for each in looked if each and each.bad]
    file = run.session.attempt_dir / f"skipped-{step:08d}.npz"
    written = _write(file, parts)
    at = run.position
    run.session.report(BatchSkipped(step, at.epoch, at.in_epoch(step), written, found))


def tensors_of(model: Any, batch: Any) -> list[tuple[str, Any]]:
    x, y, weights = public(model).utils.unpack_x_y_sample_weight(batch)
    named = (("x", x), ("y", y), ("sample_weight", weights))
    return [(f"{name}{path}", each) for name, part in named for path, each in parts_of(part)]


def _write(file: Path, parts: Iterable[tuple[str, Any]]) -> str:
    arrays: dict[str, Any] = {}
    for name, each in parts:
        if hasattr(each, "__array__"):
            array = np.asarray(each)
            arrays[name] = array.astype(np.bytes_) if array.dtype == object else array
    if sum(array.nbytes for array in arrays.values()) > _MOST_BYTES:
        return ""
    try:
        np.savez(file, **arrays)
    except OSError:
        return ""
    return str(file)


def look_at_weights(run: Any, place: tuple[int, int, int]) -> None:
    """Reports a weight that is not finite, after one of the steps in which a number became bad."""
    if found := bad_weight(run.model.trainable_weights):
        run.session.losses.tell(place, "weights", found.bad, lambda: optimizer_of(run.model))


def bad_weight(weights: Iterable[Any]) -> Finiteness | None:
    looked = (look(path_of(each), value_of(each)) for each in weights)
    return next((each for each in looked if each is not None and each.bad), None)


def optimizer_of(model: Any) -> dict[str, Any]:
    """What a `NonFiniteLoss` says of the optimizer of a model, after a step."""
    private = private_of(model)
    unclipped = private.why_unclipped(model)
    if not unclipped and not int(model.optimizer.iterations.numpy()):
        unclipped = "the training step does not use the optimizer"
    return {
        "learning_rate": private.learning_rate(model),
        "is_scheduled": private.has_schedule(model),
        "unclipped": unclipped,
    }


@observing()
def cut_rate(run: Any, step: int) -> None:
    rate = dict(run.session.settings.rates).get(step)
    if rate is not None and run.model.optimizer is not None:
        # It may be lower already, where a callback raised it later.
        now = private_of(run.model).learning_rate(run.model)
        run.model.optimizer.learning_rate = rate if now is None else min(now, rate)


@observing()
def clip_gradients(run: Any) -> None:
    """Before the training step is traced, in each `fit` from the rollback on."""
    if norm := run.session.settings.clip_norm:
        private = private_of(run.model)
        if reason := private.why_unclipped(run.model):
            run.session.report(Notice("not_clipped", f"Gradients are not clipped: {reason}."))
        else:
            private.clip(run.model, norm)
