"""`pitstop why`."""

from dataclasses import replace
from pathlib import Path

import click

from pitstop import report
from pitstop.cli.chosen_run import begun, find_gang, find_run
from pitstop.cli.output_formats import OutputFormats, deliver, report_forms
from pitstop.cli.places import PLACE, fetched
from pitstop.errors import RunNotFound
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
    """Explain why RUN stopped: cause, advice and evidence.

    RUN is a folder, or the URL of a mirror.  For a launch, explains the member
    that failed first, and lists the members that failed because of it.
    """
    if (gang := find_gang(run)) is not None:
        deliver(*_report_on_all(gang, attempt), forms)
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
