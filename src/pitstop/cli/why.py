"""`pitstop why`, `pitstop diagnose`."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import click

from pitstop import report
from pitstop.cli.chosen_run import begun, find_gang, find_run
from pitstop.cli.output_formats import OutputFormats, deliver, deliver_gang, report_forms
from pitstop.cli.places import PLACE, fetched
from pitstop.cli.quantities import Quantity
from pitstop.errors import RunNotFound
from pitstop.exit_codes import EXIT_SIGNALLED
from pitstop.remote.place import RemotePlace
from pitstop.report import files
from pitstop.report.gang import GangReport, MemberReport, ended_seconds, of_members
from pitstop.report.why import WhyReport
from pitstop.store.gang_folder import GangFolder, task_name
from pitstop.store.lock import is_locked
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.control.live_run import status_of
from pitstop.supervisor.status import SUSPENDED


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--attempt", type=click.IntRange(min=1), help="Attempt to explain.  [default: last]")
@report_forms
@click.pass_context
def why(
    context: click.Context,
    run: Path | RemotePlace | None,
    *,
    attempt: int | None,
    forms: OutputFormats,
) -> None:
    """Explain why RUN stopped: the cause, what to do, and the evidence.

    RUN is a folder, or the URL of a mirror.  For a launch, explains the member
    that failed first, and lists the members that failed because of it.
    """
    if (gang := find_gang(run)) is not None:
        deliver_gang(*_report_on_all(gang, attempt), forms)
    else:
        deliver(*_report(context, run, attempt), forms)


def _report_on_all(gang: GangFolder, attempt: int | None) -> tuple[GangReport, Path | None]:
    members, pages = [], {}
    for folder in begun(gang):
        found, pages[folder.path] = _of_folder(folder, attempt)
        ended = ended_seconds(folder.path)
        members.append(MemberReport(task_name(folder.path), found, ended))
    if not members:
        raise RunNotFound(f"No member of {gang.path} has started.", "Run the launch command again.")
    found_all = of_members(str(gang.path), members)
    return found_all, pages[Path(found_all.first.report.name)]


def _report(
    context: click.Context, run: Path | RemotePlace | None, attempt: int | None
) -> tuple[WhyReport, Path | None]:
    if isinstance(run, RemotePlace):
        found = report.why(fetched(context, run), live=False, attempt=attempt)
        return replace(found, name=run.url), None
    return _of_folder(find_run(run), attempt)


def _of_folder(folder: RunFolder, attempt: int | None) -> tuple[WhyReport, Path | None]:
    found = report.why(folder.path, live=is_locked(folder.lock), attempt=attempt)
    if found.last.state == "running" and status_of(folder).state == SUSPENDED:
        found = replace(found, last=replace(found.last, state=SUSPENDED))
    left = folder.attempt_dir(found.last.attempt) / files.PAGE
    return found, left if left.exists() else None


def parse_signal(text: str) -> str:
    try:
        if text.isdigit():
            return signal.Signals(int(text)).name
        return signal.Signals["SIG" + text.upper().removeprefix("SIG")].name
    except (KeyError, ValueError):
        raise ValueError(f"{text} is not a signal") from None


_SIGNAL = Quantity("signal", parse_signal)


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--exit-code", type=click.IntRange(0, 255), help="Its exit code (`echo $?`).")
@click.option("--signal", "signal_name", type=_SIGNAL, help="Signal that killed it: 9, SIGKILL.")
@report_forms
def diagnose(
    log: Path,
    *,
    exit_code: int | None,
    signal_name: str | None,
    forms: OutputFormats,
) -> None:
    """Explain why a training stopped, from its LOG alone.

    For trainings that did not run under Pitstop.  Lists what a log cannot show.
    Give the exit code or the signal if you know it: it helps a lot.
    """
    if exit_code is not None and signal_name is not None:
        raise click.UsageError("--exit-code and --signal cannot be used together.")
    code, name = ending_of(exit_code, signal_name or "")
    found = report.why_log(log, exit_code=code, signal=name)
    deliver(found, None, forms)


def ending_of(exit_code: int | None, signal_name: str) -> tuple[int | None, str]:
    """A shell tells of a signal by an exit code above 128."""
    numbers = {each.value for each in signal.Signals}
    if exit_code is None or exit_code - EXIT_SIGNALLED not in numbers:
        return exit_code, signal_name
    return None, signal.Signals(exit_code - EXIT_SIGNALLED).name
