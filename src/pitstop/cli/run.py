"""`pitstop run`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pitstop.cli import late_reports, policy_file
from pitstop.cli.echo import tell
from pitstop.cli.grouped_command import GroupedCommand
from pitstop.cli.places import PLACE, folder_of_slurm_task
from pitstop.cli.quantities import CONDITION, SECONDS
from pitstop.cli.run_options import (
    Retention,
    SupervisionOptions,
    retention_options,
    stop_options,
    supervision_options,
    training_options,
)
from pitstop.errors import UserError
from pitstop.link.settings import Settings
from pitstop.remote.place import RemotePlace
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.processes.process import find_program
from pitstop.supervisor.restarts.foresight import foresee
from pitstop.supervisor.runs.choice import choose, existing
from pitstop.supervisor.runs.run_request import RunRequest, StopPolicy
from pitstop.supervisor.stops import early_stop
from pitstop.supervisor.supervise import supervise
from pitstop.supervisor.terminal.own_words import say

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

_NO_FAILURES = frozenset(
    {"completed_normally", "stop_requested", "user_interrupt", "early_stopping_or_callback_stop"}
)

TOPICS = {
    "Common options": "--run-dir --new --every --keep --max-time --stop-when --restarts --help "
    "--help-all",
    "The run": "--local-dir --cluster --from --take --force --deterministic --input --flight "
    "--no-status-line --dry-run",
    "Stops": "--on-stop --halt-at-step --grace --signal --kill-after --preemption --on-pressure",
    "Checkpoints": "--overhead --snapshot-memory --keep-every --keep-best",
    "Failures": "--hang-after --on-hang --spare --on-nan --rollbacks --on-oom --on-bad-record",
}
"""The options as `--help` (the first ones) and `--help-all` show them."""


@click.command(cls=GroupedCommand, topics=TOPICS, context_settings=_CONTEXT, epilog=_EXIT_CODES)
@click.option(
    "--run-dir",
    type=PLACE,
    help="The run's folder, or the URL of its mirror, such as s3://bucket/runs/cnn.  "
    "[default: the run of the same command below runs/; else a new one, runs/<script name>, "
    "runs/<script name>-2, ...]",
)
@click.option(
    "--local-dir",
    type=click.Path(path_type=Path),
    help="With a URL: the local folder that it mirrors.  [default: runs/<last part of the URL>]",
)
@click.option("--new", is_flag=True, help="Put an existing run aside (DIR.1, ...) and start over.")
@training_options
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
@click.option(
    "--cluster",
    type=click.Choice(("auto", "slurm")),
    default="auto",
    help="Where the cluster is described: in TF_CONFIG, or by Slurm, of whose step each task is a "
    "worker.  [default: auto, TF_CONFIG if it is set]",
)
@stop_options
@retention_options
@supervision_options
@click.option("--no-status-line", is_flag=True, help="No status line at the bottom of a terminal.")
@click.option(
    "--dry-run", is_flag=True, help="Start nothing: print the run, and what failures would lead to."
)
@click.option("--launcher-pid", type=int, default=0, hidden=True)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def run(
    context: click.Context,
    *,
    run_dir: Path | RemotePlace | None,
    local_dir: Path | None,
    new: bool,
    settings: Settings,
    grace: float,
    max_time: float | None,
    stop_when: str,
    cluster: str,
    stops: StopPolicy,
    retention: Retention,
    care: SupervisionOptions,
    no_status_line: bool,
    dry_run: bool,
    launcher_pid: int,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND under supervision; an unfinished run is resumed.

    Ctrl-C, SIGTERM, SIGUSR1, `pitstop stop`, or a file named `stop` in the run's
    folder finish the step and save it; a second Ctrl-C stops at once, at the
    last snapshot.  SIGUSR2 takes a checkpoint, and training goes on.  In Slurm:
    #SBATCH --signal=B:USR1@120, and `exec pitstop run ...` in the batch script.
    """
    find_program(command)
    if dry_run:
        _foretell(run_dir, command, care, settings.on_bad_record)
        return
    if settings_of_file := policy_file.shown(Path()):
        say(f"defaults of {settings_of_file}.")
    if cluster == "slurm":
        run_dir = folder_of_slurm_task(run_dir, command, new=new, takes=bool(settings.take))
    folder, mirror = _place(run_dir, local_dir, command, settings)
    request = RunRequest(
        run_dir=folder,
        mirror=mirror,
        command=command,
        settings=settings,
        grace_seconds=grace,
        max_seconds=max_time,
        stop_when=stop_when,
        stops=stops,
        retention=retention.over(RetentionPolicy()),
        restarts=care.restarts,
        hang=care.hang,
        rollbacks=care.rollbacks,
        new=new,
        status_line=not no_status_line,
        launcher_pid=launcher_pid,
    )
    outcome = supervise(request, say, late_reports.prepare, late_reports.cause_and_report)
    early_stop.forget()
    # Whatever becomes of the report, the exit code is the run's.
    try:
        if outcome.state == State.COMPLETED.value and not outcome.attempt:
            say(f"{request.run_dir} is complete; --new puts it aside and starts over.")
        late_reports.leave(request.run_dir, say)
    finally:
        context.exit(outcome.exit_code)


def _foretell(
    run_dir: Path | RemotePlace | None,
    command: tuple[str, ...],
    care: SupervisionOptions,
    on_bad_record: str,
) -> None:
    """Prints what would be run, and what would be done after failures."""
    from pitstop.diagnosis import CAUSES

    place = run_dir or existing(command) or "a new one below runs/"
    for name, value in (
        ("command", shlex.join(command)),
        ("run", str(place)),
        ("defaults", policy_file.shown(Path()) or "those of --help-all"),
        ("a stop", "the step is finished, and saved; the same command goes on (exit code 75)"),
    ):
        tell(f"{name + ':':<10}{value}")
    tell("\nAfter a failure, by the cause that `pitstop why` names:")
    causes: dict[str, list[str]] = {}
    for cause in sorted(set(CAUSES) - _NO_FAILURES, key=CAUSES.index):
        foreseen = foresee(cause, care.restarts, care.hang, care.rollbacks, on_bad_record)
        causes.setdefault(foreseen, []).append(cause)
    for foreseen, names in causes.items():
        tell(f"\n- {', '.join(names)}:\n  {foreseen}")


def _place(
    run_dir: Path | RemotePlace | None,
    local_dir: Path | None,
    command: tuple[str, ...],
    settings: Settings,
) -> tuple[Path, str]:
    """The folder that the run works in, and the URL of its mirror or empty."""
    if isinstance(run_dir, RemotePlace):
        return local_dir or run_dir.working_copy, run_dir.url
    if local_dir is not None:
        raise UserError(
            "--local-dir is for a run whose --run-dir is a URL.", "Name the folder with --run-dir."
        )
    if run_dir is not None:
        return run_dir, ""
    choice = choose(command, takes=bool(settings.take))
    say(choice.line)
    return choice.path, ""
