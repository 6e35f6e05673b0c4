"""A script as it is, or the code of a notebook or of a page as a script."""

from __future__ import annotations

import json
import re
from pathlib import Path

KINDS = {".py", ".ipynb", ".md"}
_FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SIZE = re.compile(
    r"\b((?:(?:max|num|n)_)?epochs|EPOCHS|MAX_EPOCHS|training_steps|num_steps)(\s*=\s*)(\d+(?:e\d)?)\b"
)


def script_of(source: Path, epochs: int) -> str:
    """The code, with at most so many epochs wherever it says a number of them.

    A notebook's code cells stand one after the other, without shell commands.
    """
    text = source.read_text()
    if source.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n\n".join(_statements("".join(cell["source"])) for cell in cells) + "\n"
    elif source.suffix == ".md":
        text = "\n".join(map(_statements, _FENCED.findall(text)))
    return _SIZE.sub(lambda found: _bounded(found, epochs), text)


def _bounded(found: re.Match[str], epochs: int) -> str:
    name, sign, number = found.groups()
    most = 10 * epochs if "steps" in name else epochs
    return f"{name}{sign}{min(int(float(number)), most)}"


def _statements(cell: str) -> str:
    # A cell that begins with %% is in another language, or has its output caught.
    if cell.lstrip().startswith("%%"):
        cell = "\n".join(cell.lstrip().splitlines()[1:])
    return "\n".join(_without_command(line) for line in cell.splitlines())


def _without_command(line: str) -> str:
    inner = line.lstrip()
    indent = line[: len(line) - len(inner)]
    return f"{indent}pass  # {inner}" if inner.startswith(("!", "%")) else line
