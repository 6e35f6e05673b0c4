"""The `pitstop` command."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from pitstop.machine.descriptors import open_standard
from pitstop.supervisor.stops import early_stop


def main(arguments: Sequence[str] | None = None) -> None:
    open_standard()
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in ("run", "launch"):
        early_stop.heed()
    # Loading the rest takes longer than all that is above.
    sys.exit(importlib.import_module("pitstop.cli.commands").call(arguments))


if __name__ == "__main__":
    main()
