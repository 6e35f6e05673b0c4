"""Numbers and places in the words that all findings share."""

import re
from collections.abc import Mapping

_LIBRARY_ROOT = re.compile(r"^.*/(?:site|dist)-packages/")
_BAD_FIRST = {
    "input": "the batch itself contains bad values",
    "weights": "a weight was already bad before the step",
    "activation": "a layer turned good values into bad ones",
    "loss": "the batch and layers are good, but the loss is bad",
    "gradient": "the batch, layers and loss are good, but a gradient is bad",
    "update": "the step is good, but its update made a weight bad",
    "nowhere": "nothing was bad when the step was repeated",
}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def steps(count: int) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def place(step: int, epoch: int, step_in_epoch: int) -> str:
    """Where in the training, the epoch from 1; a loop of the script's own has none."""
    if epoch == 0 and step_in_epoch == step:
        return f"step {step:,}"
    return f"step {step:,} (epoch {epoch + 1}, batch {step_in_epoch})"


def size(size_bytes: int) -> str:
    """`1.5 GB`; powers of 1000."""
    value, unit = float(size_bytes), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size_bytes} {_UNITS[0]}"


def bad_first(where: str, name: str) -> str:
    return _BAD_FIRST.get(where, where) + (f" ({name})" if name else "")


def number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def shorten(text: str, width: int = 160) -> str:
    """The first line of a text, cut where it is longer than `width` characters."""
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= width else f"{line[: width - 3]}..."


def source_line(file: str, line: int, function: str = "") -> str:
    """`train.py:42 in load()`; of a library's file only the path inside the library."""
    where = f"{_LIBRARY_ROOT.sub('', file)}:{line}" if file else "an unknown place"
    return f"{where} in {function}()" if function and function != "<module>" else where


def limit(pair: Mapping[str, object]) -> str:
    """`soft 256, hard unlimited` of a pair as `TrainerExited.limits` holds it."""
    values = ((name, pair.get(name)) for name in ("soft", "hard"))
    return ", ".join(f"{name} {'unlimited' if value is None else value}" for name, value in values)
