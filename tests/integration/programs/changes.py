"""What differs between two attempts, and which undisturbed programs the last may equal."""

from __future__ import annotations

from dataclasses import dataclass

OLD, NEW = "old", "new"


@dataclass(frozen=True)
class Constants:
    """Everything in a script's head that a change may set."""

    rate: str = "0.03"
    momentum: str = "0.9"
    batch: str = "12"
    epochs: str = "4"
    width: str = "4"
    data_seed: str = "0"
    loss: str = '"mse"'
    rates: str = "[0.03, 0.01, 0.003]"
    seed_list: str = "[3, 4, 5]"
    folds: str = "[0, 1, 2]"
    comment: str = ""
    extra_callback: str = "no"


@dataclass(frozen=True)
class Change:
    """One edit of the script, or of its command.

    Attributes:
        constants: what it sets.
        truths: the undisturbed programs that the resumed one may equal.
        argument: a word more in the command of the last attempt.
    """

    constants: tuple[tuple[str, str], ...] = ()
    truths: tuple[str, ...] = (NEW,)
    argument: str = ""


_EITHER = (OLD, NEW)

CHANGES = {
    "nothing": Change(),
    "comment": Change((("comment", "# A line that does nothing.\nUNUSED = 1"),)),
    "rate": Change((("rate", "0.01"),), _EITHER),
    "momentum": Change((("momentum", "0.5"),), _EITHER),
    "batch": Change((("batch", "16"),), _EITHER),
    "epochs": Change((("epochs", "6"),)),
    "fewer_epochs": Change((("epochs", "3"),), _EITHER),
    "width": Change((("width", "5"),)),
    "data": Change((("data_seed", "1"),)),
    "loss": Change((("loss", '"mae"'),)),
    "callback_added": Change((("extra_callback", "added"),)),
    "callback_removed": Change((("extra_callback", "removed"),)),
    "callback_moved": Change((("extra_callback", "moved"),)),
    "argument": Change(truths=_EITHER, argument="--rate=0.01"),
    "reversed": Change(
        (("rates", "[0.003, 0.01, 0.03]"), ("seed_list", "[5, 4, 3]"), ("folds", "[2, 1, 0]"))
    ),
    "longer": Change((("rates", "[0.1, 0.03, 0.01, 0.003]"),)),
    "shorter": Change((("rates", "[0.01, 0.003]"), ("seed_list", "[4, 5]"), ("folds", "[1, 2]"))),
}
