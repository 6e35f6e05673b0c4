"""`pitstop find-nan`."""

import dataclasses
from pathlib import Path

import click

from pitstop.cli.chosen_run import find_run
from pitstop.cli.echo import tell, tell_json
from pitstop.cli.places import RUN
from pitstop.diagnosis import phrases
from pitstop.export.locating import find_nan as locate
from pitstop.plain_text import say


@click.command(name="find-nan")
@click.argument("run", type=RUN, required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--step",
    type=click.IntRange(min=1),
    help="Step to examine, counted over the whole run.  [default: step of the first bad loss]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def find_nan(
    run: Path | None, *, command: tuple[str, ...], step: int | None, as_json: bool
) -> None:
    """Find the source of the NaN or infinity in the loss of RUN.

    Runs the command of RUN again from its last checkpoint before that step, saves
    nothing, and runs that step layer by layer: was the batch bad, a layer's output,
    the loss, or a gradient?  The only callbacks that run are those of Keras that
    control the training.  Afterwards `pitstop why` also reports the answer.

    Secrets in the run's command are not stored: if it has any, give the command after `--`.
    """
    found = locate(find_run(run), step or 0, say, command)
    if as_json:
        fields = dataclasses.asdict(found.located)
        tell_json({**fields, "attempt": found.attempt, "from_step": found.from_step}, indent=None)
        return
    located = found.located
    tell(f"step {located.step:,}: {phrases.bad_first(located.where, located.name)}")
    for detail in located.details:
        tell(f"  {detail}")
