"""`pitstop plan`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

import click

from pitstop.cli.echo import tell, tell_json
from pitstop.diagnosis.phrases import size
from pitstop.drill.invocation import ENV_DRILL
from pitstop.export.memory_plan import MemoryNeed, MemoryPlan, make_plan
from pitstop.supervisor.processes.process import find_program
from pitstop.supervisor.terminal.own_words import say

_SHORT = 1
_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_EXIT_CODES = """\b
Exit codes:
  0    the steps fit into the memory that is there
  1    they do not
  2    wrong usage, or no steps could be measured
"""
_NOT_COVERED = (
    "validation and prediction, a later larger batch, callbacks, later trainings of the script, "
    "what its input holds beyond the first batches, and the memory that others take meanwhile"
)


@click.command(context_settings=_CONTEXT, epilog=_EXIT_CODES)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def plan(context: click.Context, *, as_json: bool, command: tuple[str, ...]) -> None:
    """Measure what memory the training steps of COMMAND need, and say which batch fits.

    Runs COMMAND in this folder up to its first training, there some steps with its batch, then
    a few with larger ones while that is safe, and ends it.  Nothing of the steps is saved; what
    the script does before them, it does.  The script sees PITSTOP_DRILL=1.
    """
    find_program(command)
    made = make_plan(command, {**os.environ, ENV_DRILL: "1"}, say)
    if as_json:
        needs = [{**dataclasses.asdict(each), "fits": each.fits} for each in made.needs]
        fields = {**dataclasses.asdict(made), "needs": needs, "fits": made.fits}
        tell_json({**fields, "not_covered": _NOT_COVERED})
    else:
        for line in _lines(made):
            tell(line)
    context.exit(0 if made.fits else _SHORT)


def _lines(made: MemoryPlan) -> Iterator[str]:
    if not (made.before_bytes or made.needs[0].is_measured):
        yield "does not fit: killed for want of memory before its first step"
        return
    if made.records:
        yield f"batch         {made.records:,} records"
    if made.before_bytes:
        yield f"before        {size(made.before_bytes)} at the peak before the first step"
    for each in made.needs:
        yield from _of_memory(each)
    yield f"libraries     {size(made.mapped_files_bytes)} of the host's, which could be read again"
    state = size(made.state_bytes)
    yield f"variables     {state}; `pitstop run` holds up to three copies of them, on the host"
    if made.error:
        yield f"ended in      {made.error}"
    yield f"not covered   {_NOT_COVERED}"


def _of_memory(need: MemoryNeed) -> Iterator[str]:
    peak = "more than there is" if need.peak_bytes is None else size(need.peak_bytes)
    reckoned = "" if need.is_measured else ", reckoned from smaller batches"
    yield f"{need.name:<14}{peak} at the peak of a step{reckoned}"
    left = "" if need.left_bytes is None else f"; {size(need.left_bytes)} are free"
    words = {True: "fits", False: "does not fit", None: "unknown whether it fits"}
    yield f"{'':14}{words[need.fits]}{left}"
    if need.bytes_per_record is None:
        yield f"{'':14}what a record takes was not measured"
    elif need.largest_batch is not None:
        record = size(round(need.bytes_per_record))
        largest = need.largest_batch
        rounded = largest - largest % 10 ** max(0, len(str(largest)) - 2)
        yield f"{'':14}{record} for each record: about {rounded:,} would fit"
