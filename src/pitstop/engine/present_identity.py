"""What is known of any training from the call that begins it."""

from __future__ import annotations

import sys

from pitstop.engine.call_site import present_call_site
from pitstop.engine.identity import Identity
from pitstop.engine.program import command_digest, program_digest


def identity_of_present_call(seed: int | None) -> Identity:
    """The place of the call that runs now, in the program, the command and the process."""
    site = present_call_site()
    return Identity(
        process=process_name(),
        program=program_digest(),
        command=command_digest(),
        frames=site.frames,
        counters=site.counters,
        arguments=site.arguments,
        complete=site.complete,
        values=site.values,
        seed="" if seed is None else str(seed),
    )


def process_name() -> str:
    """The name that `multiprocessing` gave it, in the order in which they are made.

    Empty for a process that it did not make.
    """
    made_by = sys.modules.get("multiprocessing.process")
    if made_by is None or made_by.parent_process() is None:
        return ""
    return str(made_by.current_process().name)
