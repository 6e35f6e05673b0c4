"""`pitstop plan`."""

import dataclasses
import os
from collections.abc import Iterator

import click

from pitstop.cli.echo import tell, tell_json
from pitstop.diagnosis.phrases import size
from pitstop.drill.runner import ENV_DRILL
from pitstop.export.memory_plan import MemoryNeed, MemoryPlan, make_plan
from pitstop.plain_text import say
from pitstop.supervisor.processes.process import find_program

_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_EXIT_CODES = """\b
Exit codes:
  0    the training steps fit into the memory
  1    they do not
  2    usage error, or no step could be measured
"""
_NOT_COVERED = (
    "validation and prediction, larger batches later on, callbacks, later trainings of the "
    "script, what its input buffers after the first batches, and other processes"
)


@click.command(context_settings=_CONTEXT, epilog=_EXIT_CODES)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def plan(context: click.Context, *, as_json: bool, command: tuple[str, ...]) -> None:
    """Measure the memory of a step, and find the batch that fits.

    Runs COMMAND in this folder up to its first training, trains some steps with its batch and,
    while that is safe, a few with larger batches, and ends it.  The training is not saved.
    Files that the script writes before the training remain.  The script sees PITSTOP_DRILL=1.
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
    context.exit(0 if made.fits else 1)


def _lines(made: MemoryPlan) -> Iterator[str]:
    if not (made.before_bytes or made.needs[0].is_measured):
        yield "does not fit: killed before its first step because memory ran out"
        return
    if made.records:
        yield f"batch         {made.records:,} records"
    if made.before_bytes:
        yield f"before        {size(made.before_bytes)} at the peak before the first step"
    for each in made.needs:
        yield from _of_memory(each)
    yield f"libraries     {size(made.mapped_files_bytes)} of host memory that can be reclaimed"
    state = size(made.state_bytes)
    yield f"variables     {state}; `pitstop run` keeps up to three copies in host memory"
    if made.error:
        yield f"ended in      {made.error}"
    yield f"not covered   {_NOT_COVERED}"


def _of_memory(need: MemoryNeed) -> Iterator[str]:
    peak = "more than available" if need.peak_bytes is None else size(need.peak_bytes)
    reckoned = "" if need.is_measured else ", estimated from smaller batches"
    yield f"{need.name:<14}{peak} at the peak of a step{reckoned}"
    left = "" if need.left_bytes is None else f"; {size(need.left_bytes)} are free"
    words = {True: "fits", False: "does not fit", None: "may or may not fit"}
    yield f"{'':14}{words[need.fits]}{left}"
    if need.bytes_per_record is None:
        yield f"{'':14}memory per record was not measured"
    elif need.largest_batch is not None:
        record = size(round(need.bytes_per_record))
        largest = need.largest_batch
        rounded = largest - largest % 10 ** max(0, len(str(largest)) - 2)
        yield f"{'':14}{record} per record: about {rounded:,} would fit"
