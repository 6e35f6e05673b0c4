"""Which process of the script this is, the same from attempt to attempt."""

from __future__ import annotations

import sys


def process_name() -> str:
    """The name that `multiprocessing` gave it, in the order in which they are made.

    Empty for a process that it did not make.
    """
    made_by = sys.modules.get("multiprocessing.process")
    if made_by is None or made_by.parent_process() is None:
        return ""
    return str(made_by.current_process().name)
