"""`pitstop run`."""

import shlex
from functools import partial
from pathlib import Path

import click

from pitstop.cli import policy_file, reports, run_options
from pitstop.cli.echo import tell
from pitstop.cli.grouped_command import GroupedCommand, option
from pitstop.cli.places import PLACE, folder_of_slurm_task
from pitstop.cli.quantities import CONDITION, SECONDS
from pitstop.errors import UserError
from pitstop.exit_codes import EXIT_REFUSED, EXIT_STOPPED
from pitstop.link.settings import Settings
from pitstop.plain_text import say
from pitstop.remote.place import RemotePlace
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.processes.process import find_program
from pitstop.supervisor.restarts.restarts import RestartPolicy, foresee
from pitstop.supervisor.runs.choice import choose, existing
from pitstop.supervisor.runs.run_request import RunOutcome, RunRequest, StopPolicy
from pitstop.supervisor.stops import early_stop
from pitstop.supervisor.supervise import supervise

_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_EXIT_CODES = """\b
Exit codes:
  0    training complete
  75   stopped and saved; run the same command again to resume
  2    usage error, folder in use or not a run, or saved state that does not match
  126  COMMAND cannot be executed
  127  COMMAND does not exist
  1    the run folder cannot be written (or the script returned 1)
  else exit code of the script; 128 + signal number if it was killed
"""

_NO_FAILURES = frozenset(
    {"completed_normally", "stop_requested", "user_interrupt", "early_stopping_or_callback_stop"}
)


@click.command(cls=GroupedCommand, context_settings=_CONTEXT, epilog=_EXIT_CODES)
@option("--run-dir", type=PLACE)
@option("--local-dir", type=click.Path(path_type=Path))
@option("--new", is_flag=True)
@run_options.training_options
@option("--grace", type=SECONDS, default=30.0)
@option("--max-time", type=SECONDS)
@option("--stop-when", type=CONDITION, default="")
@option("--cluster", type=click.Choice(("auto", "slurm")), default="auto")
@option("--stopped-code", type=click.IntRange(1, 255), default=EXIT_STOPPED)
@run_options.stop_options
@run_options.retention_options
@run_options.supervision_options
@option("--no-status-line", is_flag=True)
@option("--dry-run", is_flag=True)
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
    stopped_code: int,
    stops: StopPolicy,
    retention: run_options.Retention,
    care: tuple[RestartPolicy, HangPolicy],
    no_status_line: bool,
    dry_run: bool,
    launcher_pid: int,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND under supervision; an unfinished run is resumed.

    Ctrl-C, SIGTERM, SIGUSR1, `pitstop stop`, or a file named `stop` in the run folder
    finish the current step, save it and stop.  A second Ctrl-C stops immediately, at
    the last snapshot.  SIGUSR2 saves a checkpoint and continues training.  In Slurm:
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
    restarts, hang = care
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
        restarts=restarts,
        hang=hang,
        new=new,
        status_line=not no_status_line,
        launcher_pid=launcher_pid,
    )
    cause_of = partial(reports.cause_and_report, say=say)
    outcome = supervise(request, say, reports.prepare, cause_of)
    early_stop.ignore_signals()
    code = outcome.exit_code
    # Also if the report fails, the exit code is the run's.
    try:
        _tell_end(folder, outcome)
    finally:
        context.exit(stopped_code if code == EXIT_STOPPED else code)


def _tell_end(folder: Path, outcome: RunOutcome) -> None:
    if outcome.state == State.COMPLETED.value and not outcome.attempt:
        say(f"{folder} is complete; use --new to rename it and start over.")
    reports.leave_reports(folder, say, is_told=outcome.exit_code == EXIT_REFUSED)


def _foretell(
    run_dir: Path | RemotePlace | None,
    command: tuple[str, ...],
    care: tuple[RestartPolicy, HangPolicy],
    on_bad_record: str,
) -> None:
    from pitstop.diagnosis import CAUSES

    place = run_dir or existing(command) or "a new one under runs/"
    for name, value in (
        ("command", shlex.join(command)),
        ("run", str(place)),
        ("defaults", policy_file.shown(Path()) or "see --help-all"),
        ("a stop", "the step is finished and saved (exit code 75); the same command resumes"),
    ):
        tell(f"{name + ':':<10}{value}")
    tell("\nAfter a failure, by the cause that `pitstop why` reports:")
    causes: dict[str, list[str]] = {}
    for cause in sorted(set(CAUSES) - _NO_FAILURES, key=CAUSES.index):
        foreseen = foresee(cause, *care, on_bad_record)
        causes.setdefault(foreseen, []).append(cause)
    for foreseen, names in causes.items():
        tell(f"\n- {', '.join(names)}:\n  {foreseen}")


def _place(
    run_dir: Path | RemotePlace | None,
    local_dir: Path | None,
    command: tuple[str, ...],
    settings: Settings,
) -> tuple[Path, str]:
    if isinstance(run_dir, RemotePlace):
        return local_dir or run_dir.working_copy, run_dir.url
    if local_dir is not None:
        raise UserError("--local-dir needs a URL as --run-dir.", "Give the folder with --run-dir.")
    if run_dir is not None:
        return run_dir, ""
    choice = choose(command, takes=bool(settings.take))
    say(choice.line)
    return choice.path, ""
