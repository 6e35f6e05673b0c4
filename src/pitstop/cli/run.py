"""`pitstop run`."""

from __future__ import annotations

from pathlib import Path

import click

from pitstop.cli.places import PLACE, local_and_mirror
from pitstop.cli.quantities import BYTES, CONDITION, INTERVAL, SECONDS, SHARE, Interval
from pitstop.cli.reports import cause_and_report, leave_reports
from pitstop.cli.retention_options import retention_options, with_options
from pitstop.cli.stop_options import stop_options, stop_policy
from pitstop.cli.supervision_options import restart_policy, supervision_options
from pitstop.engine.weights_file import identify
from pitstop.link.settings import Settings
from pitstop.remote.place import RemotePlace
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.lifecycle import State
from pitstop.supervisor.notices import completed_line
from pitstop.supervisor.run_request import RunRequest
from pitstop.supervisor.screen import PREFIX
from pitstop.supervisor.supervise import supervise
from pitstop.supervisor.watchdog import HangPolicy

_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_EXIT_CODES = """\b
Exit codes:
  0    training complete
  75   stopped safely; run the same command again to go on
  2    wrong usage, a folder that is no run or in use, or saved state that does not fit
  126  COMMAND cannot be executed
  127  COMMAND does not exist
  1    the run folder cannot be written (or the script returned 1)
  else the script's own code, 128 + signal when it was killed
"""


@click.command(context_settings=_CONTEXT, epilog=_EXIT_CODES)
@click.option(
    "--run-dir",
    type=PLACE,
    help="The run's folder, or the URL of its mirror, such as s3://bucket/runs/cnn.  "
    "[default: runs/<script name>]",
)
@click.option(
    "--local-dir",
    type=click.Path(path_type=Path),
    help="With a URL: the local folder that it mirrors.  [default: runs/<last part of the URL>]",
)
@click.option(
    "--from",
    "start_from",
    type=click.Path(path_type=Path),
    help="Begin a new run with saved weights: .keras, .weights.h5, .safetensors, a SavedModel, or "
    "a checkpoint of TensorFlow.",
)
@click.option("--new", is_flag=True, help="Put an existing run aside (DIR.1, ...) and start over.")
@click.option("--force", is_flag=True, help="Continue where a difference would make it refuse.")
@click.option(
    "--every",
    type=INTERVAL,
    default=Interval(),
    help="A durable checkpoint every so often: 500steps, 10min.  [default: by cost]",
)
@click.option(
    "--overhead",
    type=SHARE,
    default=0.01,
    help="Share of the training time that Pitstop may cost.  [default: 1%]",
)
@click.option(
    "--grace",
    type=SECONDS,
    default=30.0,
    help="The longest wait for a step to end after a stop request.  [default: 30s]",
)
@click.option(
    "--max-time",
    type=SECONDS,
    help="Stop, saved, before so much time has passed: 3h50m.  [default: to the Slurm job's end; "
    "0: no limit]",
)
@click.option(
    "--stop-when",
    type=CONDITION,
    default="",
    help="Stop, saved, when metrics of an epoch say so: 'val_loss < 0.02', 'plateau(val_loss, 5)', "
    "'nan(loss) or diverges(loss, 3)'.",
)
@stop_options
@click.option(
    "--on-stop",
    type=click.Choice(("exit", "return")),
    default="exit",
    help="What a stop does in the script, once its state is saved: exit there, or return from "
    "`fit` and go on behind it, training no more.  [default: exit]",
)
@retention_options
@supervision_options
@click.option(
    "--snapshot-memory",
    type=BYTES,
    default=0,
    help="The most memory that snapshots may take: 2GB.  [default: half of what is free]",
)
@click.option(
    "--input",
    "input_mode",
    type=click.Choice(("auto", "native", "replay")),
    default="auto",
    help="How the place in the input is saved: the state of its iterator, or a count of batches "
    "that are drawn again.  [default: auto, by cost]",
)
@click.option(
    "--halt-at-step",
    type=click.IntRange(min=0),
    default=0,
    help="Stop, saved, after this step of the run.  [default: train to the end]",
)
@click.option("--die-at-step", type=click.IntRange(min=0), default=0, hidden=True)
@click.option("--no-status-line", is_flag=True, help="No status line at the bottom of a terminal.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def run(
    context: click.Context,
    *,
    run_dir: Path | RemotePlace | None,
    local_dir: Path | None,
    start_from: Path | None,
    new: bool,
    force: bool,
    every: Interval,
    overhead: float,
    grace: float,
    max_time: float | None,
    stop_when: str,
    signals: tuple[str, ...],
    kill_after: float | None,
    preemption: str,
    acknowledge: bool,
    on_pressure: str,
    on_stop: str,
    keep: int | None,
    keep_every: float | None,
    keep_best: tuple[BestRule, ...],
    restarts: int,
    hang_after: float,
    flight: float,
    on_hang: str,
    snapshot_memory: int,
    input_mode: str,
    halt_at_step: int,
    die_at_step: int,
    no_status_line: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND under supervision; an unfinished run is resumed.

    Ctrl-C, SIGTERM, SIGUSR1, `pitstop stop`, or a file named `stop` in the run's
    folder finish the step and save it; a second Ctrl-C stops at once, at the
    last snapshot.  SIGUSR2 takes a checkpoint, and training goes on.  In Slurm:
    #SBATCH --signal=B:USR1@120, and `exec pitstop run ...` in the batch script.
    """
    settings = Settings(
        overhead=overhead,
        every_steps=every.steps,
        every_seconds=every.seconds,
        snapshot_memory_bytes=snapshot_memory,
        input_mode=input_mode,
        force=force,
        halt_at_step=halt_at_step,
        die_at_step=die_at_step,
        stop_returns=on_stop == "return",
        flight_seconds=flight,
        start_from=str(identify(start_from.resolve()).path) if start_from else "",
    )
    folder, mirror = local_and_mirror(run_dir, local_dir, command)
    request = RunRequest(
        run_dir=folder,
        mirror=mirror,
        command=command,
        settings=settings,
        grace_seconds=grace,
        max_seconds=max_time,
        stop_when=stop_when,
        stops=stop_policy(signals, kill_after, preemption, on_pressure, acknowledges=acknowledge),
        retention=with_options(RetentionPolicy(), keep, keep_every, keep_best),
        restarts=restart_policy(restarts, on_hang),
        hang=HangPolicy(hang_after, on_hang),
        new=new,
        status_line=not no_status_line,
    )
    outcome = supervise(request, _say, cause_of=cause_and_report)
    # Whatever becomes of the report, the exit code is the run's.
    try:
        if outcome.state == State.COMPLETED.value and not outcome.attempt:
            _say(completed_line(request.run_dir))
        leave_reports(request.run_dir, _say)
    finally:
        context.exit(outcome.exit_code)


def _say(line: str) -> None:
    click.echo(f"{PREFIX}{line}", err=True)
