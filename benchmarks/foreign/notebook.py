"""The code of a notebook as a script."""

from __future__ import annotations

import json
from pathlib import Path


def script_of(source: Path) -> str:
    """A script as it is; a notebook's code cells one after the other, without shell commands."""
    text = source.read_text()
    if source.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n\n".join(_statements("".join(cell["source"])) for cell in cells) + "\n"


def _statements(cell: str) -> str:
    # A cell that begins with %% is in another language, or has its output caught.
    if cell.lstrip().startswith("%%"):
        cell = "\n".join(cell.lstrip().splitlines()[1:])
    return "\n".join(_without_command(line) for line in cell.splitlines())


def _without_command(line: str) -> str:
    inner = line.lstrip()
    indent = line[: len(line) - len(inner)]
    return f"{indent}pass  # {inner}" if inner.startswith(("!", "%")) else line
