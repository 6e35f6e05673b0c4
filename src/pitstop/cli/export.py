"""`pitstop export`."""

from pathlib import Path

import click

from pitstop.cli.chosen_run import find_run
from pitstop.cli.echo import tell
from pitstop.cli.places import RUN
from pitstop.engine.snapshots.weights_file import Format
from pitstop.export.exporting import ExportRequest, write_export
from pitstop.plain_text import say
from pitstop.store.lock import is_locked

_FORMATS = [each.value for each in Format]


@click.command()
@click.argument("run", type=RUN)
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--to", "form", type=click.Choice(_FORMATS), required=True, help="Output format.")
@click.option(
    "--checkpoint", default="", help="Name or step of a checkpoint.  [default: newest undamaged]"
)
@click.option("--force", is_flag=True, help="Replace OUT.")
def export(
    run: Path, out: Path, *, command: tuple[str, ...], form: str, checkpoint: str, force: bool
) -> None:
    """Write a saved state of RUN to OUT, in a standard format.

    keras (OUT.keras; OUT.weights.h5 for weights alone), saved_model, tf_checkpoint
    (`tf.train.Checkpoint(model=..., optimizer=...)`), v1_saver: runs the run's command
    up to the saved state, as in a resume, writes the model there, and ends.
    safetensors: every variable by its path; runs nothing, and needs no TensorFlow.

    Secrets in the run's command are not stored: if it has any, give the command after `--`.

    RUN is not changed.  If RUN is still running, its newest durable checkpoint is exported.
    """
    folder = find_run(run)
    if is_locked(folder.lock):
        say(f"{run} is still running; its newest durable checkpoint is exported.")
    request = ExportRequest(folder, Format(form), out.absolute(), checkpoint, force, command)
    found = write_export(request, say)
    tell(f"{out}: step {found.step} ({found.checkpoint})")
