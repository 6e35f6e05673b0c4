"""The `pitstop` command."""

import importlib
import os
import sys
from collections.abc import Sequence

from pitstop.supervisor.stops import early_stop

_LAST_STANDARD = 2


def open_standard() -> None:
    """Opens /dev/null for each closed standard descriptor, so that no file gets its number."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        os.set_inheritable(fd, True)
    os.close(fd)


def main(arguments: Sequence[str] | None = None) -> None:
    open_standard()
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in ("run", "launch"):
        early_stop.catch_signals()
    # Loading the rest takes longer than all that is above.
    sys.exit(importlib.import_module("pitstop.cli.commands").call(arguments))


if __name__ == "__main__":
    main()
