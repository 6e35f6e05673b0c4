"""Notebooks that are made of parts, and what people do to their cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.integration.kernel import SETUP

EPOCH_STEPS = 6


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        block: the cells of one block need each other in their order; "" needs none.
        training: the name of the training in it, as `Kernel.plan` knows it.
        steps: at which the optimizer of its training ends, where all cells are run in order.
    """

    text: str
    block: str = ""
    training: str = ""
    steps: int = 0


Notebook = tuple[Cell, ...]

_TENSORS = "x = np.random.rand(96, 4).astype('float32'); y = x.sum(1, keepdims=True)"
_SEQUENCE = """
class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 6
    def __getitem__(self, index):
        return x[16 * index : 16 * index + 16], y[16 * index : 16 * index + 16]
"""
_GENERATOR = """
def rows():
    # Of its own: it is read ahead, by as much as there is time for.
    numbers = np.random.default_rng(3)
    while True:
        at = numbers.integers(0, 80)
        yield x[at : at + 16], y[at : at + 16]
"""
_SHUFFLED = "from_tensor_slices((x, y)).shuffle(96).batch(16)"
DATA = {
    "numpy": (_TENSORS, "x, y, batch_size=16"),
    "pipeline": (
        f"{_TENSORS}\nimport tensorflow as tf\ndata = tf.data.Dataset.{_SHUFFLED}",
        "data",
    ),
    "sequence": (_TENSORS + _SEQUENCE, "Rows()"),
    "generator": (_TENSORS + _GENERATOR, f"rows(), steps_per_epoch={EPOCH_STEPS}"),
}
"""Cells that make data, and what `fit` is given of it."""
LAYERS = {
    "dropout": "layers.Dense(8), layers.Dropout(0.2), layers.Dense(1)",
    "normalized": "layers.Dense(8), layers.BatchNormalization(), layers.Dense(1)",
    "noisy": "layers.GaussianNoise(0.1), layers.Dense(8), layers.Dense(1)",
}
CALLBACKS = (
    "",
    "keras.callbacks.ReduceLROnPlateau('loss', patience=1, min_delta=9)",
    "keras.callbacks.EarlyStopping('loss', patience=1, restore_best_weights=True)",
    "keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs['loss']))",
)
SIDE_CELLS = (
    "np.random.rand(3)",
    "import random; random.random()",
    "sorted([3, 1, 2])",
    "keras.layers.Dense(3).build((None, 2))",
)
_BUILD = """
layers = keras.layers
def build():
    model = keras.Sequential([layers.Input((4,)), {layers}])
    model.compile("adam", "mse")
    return model
"""
_SHAPES = ("cells", "cells", "one cell", "twice", "folds", "function")


def drawn(source: Random) -> Notebook:
    """A notebook whose parts go together."""
    data, given = DATA[source.choice(sorted(DATA))]
    validation = source.choice(("", ", validation_data=(x[:32], y[:32])"))
    head = [Cell(SETUP, "head"), Cell("seen = []", "head"), Cell(data, "head")]
    if source.random() < 0.5:
        head.insert(1, Cell(f"keras.utils.set_random_seed({source.randrange(99)})", "head"))
    else:
        # TensorFlow draws the seed of a shuffle from the machine: another one in each kernel.
        head[-1] = Cell(data.replace("shuffle(96)", "shuffle(96, seed=2)"), "head")
    head.append(Cell(_BUILD.format(layers=LAYERS[source.choice(sorted(LAYERS))]), "head"))
    for block in ("a", "b")[: source.randint(1, 2)]:
        own = source.choice(CALLBACKS)
        head += _block(block, source.choice(_SHAPES), f"{given}{validation}", own)
    return tuple(head)


def _block(block: str, shape: str, given: str, own: str) -> list[Cell]:
    def fit(number: int, epochs: int = 3) -> str:
        callbacks = f"[Ends('{block}{number}'){own and ', '}{own}]"
        return (
            f"h = {block}.fit({given}, epochs={epochs}, verbose=0, callbacks={callbacks})\n"
            f"print('END', digest({block}), h.history, h.epoch)"
        )

    def cell(text: str, number: int = 0, epochs: int = 0) -> Cell:
        return Cell(text, block, f"{block}{number}" if number else "", EPOCH_STEPS * epochs)

    made = f"{block} = build()"
    if shape == "one cell":
        return [cell(f"{made}\n{fit(1)}", 1, 3)]
    if shape == "folds":
        lines = f"{made}\n{fit(1)}".replace("\n", "\n    ")
        return [cell(f"for fold in range(2):\n    {lines}", 1, 3)]
    if shape == "twice":
        return [cell(made), cell(f"{fit(1)}\n{fit(2, 2)}", 1, 3)]
    if shape == "function":
        lines = fit(1).replace(f"{block}.fit", "model.fit").replace(f"({block})", "(model)")
        indented = lines.replace("\n", "\n    ")
        function = cell(f"def train_{block}(model):\n    {indented}")
        return [function, cell(made), cell(f"train_{block}({block})", 1, 3)]
    return [cell(made), cell(fit(1), 1, 3), cell(fit(2, 2), 2, 5)]


# -- edits ---------------------------------------------------------------------------------


def _texts_changed(before: str, now: str) -> Callable[[Notebook, Random], Notebook]:
    def change(notebook: Notebook, source: Random) -> Notebook:
        found = [at for at, cell in enumerate(notebook) if before in cell.text]
        if not found:
            return notebook
        at = source.choice(found)
        cell = replace(notebook[at], text=notebook[at].text.replace(before, now))
        return (*notebook[:at], cell, *notebook[at + 1 :])

    return change


def _with_a_cell(notebook: Notebook, source: Random) -> Notebook:
    at = source.randint(1, len(notebook))
    return (*notebook[:at], Cell(source.choice(SIDE_CELLS)), *notebook[at:])


def _run_twice(notebook: Notebook, source: Random) -> Notebook:
    at = source.choice([at for at, cell in enumerate(notebook) if cell.training])
    return (*notebook[: at + 1], *notebook[at:])


def _blocks_reordered(notebook: Notebook, source: Random) -> Notebook:
    order = ["head", *source.sample(["", "a", "b"], 3)]
    return tuple(sorted(notebook, key=lambda cell: order.index(cell.block)))


def _one_block_left_out(notebook: Notebook, source: Random) -> Notebook:
    blocks = sorted({cell.block for cell in notebook} & {"a", "b"})
    without = source.choice(blocks) if len(blocks) > 1 else None
    return tuple(cell for cell in notebook if cell.block != without)


EDITS: dict[str, Callable[[Notebook, Random], Notebook]] = {
    "epochs": _texts_changed("epochs=3", "epochs=4"),
    "fewer epochs": _texts_changed("epochs=3", "epochs=2"),
    "learning rate": _texts_changed('"adam"', "keras.optimizers.Adam(0.01)"),
    "loss": _texts_changed('"mse"', '"mae"'),
    "data": _texts_changed("x.sum(1,", "x.min(1,"),
    "fewer rows": _texts_changed("rand(96", "rand(95"),
    "code of a callback": _texts_changed("seen.append(logs", "seen.append(2 * logs"),
    "model": _texts_changed("Dense(8)", "Dense(7)"),
    "activation": _texts_changed("Dense(8)", "Dense(8, 'relu')"),
    "layout": _texts_changed(", verbose=0", ",  # silent\n    verbose = 0"),
    "another cell": _with_a_cell,
    "run twice": _run_twice,
    "reordered": _blocks_reordered,
    "a block less": _one_block_left_out,
}
