"""`pitstop status`."""

from dataclasses import replace
from pathlib import Path

import click

from pitstop.cli.chosen_run import find_gang, find_run
from pitstop.cli.echo import tell, tell_json
from pitstop.cli.ls import counted, print_table
from pitstop.cli.places import PLACE, fetched
from pitstop.durations import duration
from pitstop.events import JsonValue
from pitstop.remote.place import RemotePlace
from pitstop.store.gang_folder import GangFolder, task_name
from pitstop.store.run_folder import RUN_FILE, find_runs, open_existing
from pitstop.supervisor.control.live_run import status_of, statuses_at
from pitstop.supervisor.records.notices import level_text
from pitstop.supervisor.runs.choice import RUNS
from pitstop.supervisor.status import (
    Status,
    best_text,
    loss_text,
    place_text,
    rate_text,
    replay_text,
    stored_status,
)


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def status(context: click.Context, run: Path | RemotePlace | None, *, as_json: bool) -> None:
    """Show the progress of RUN; for a launch, of each member.

    RUN is a folder, or the URL of a mirror.  Without RUN: the only run under runs/,
    or all of them.
    """
    if (gang := find_gang(run)) is not None:
        _show_members(gang, as_json=as_json)
        return
    found = [] if run is not None else find_runs(RUNS)
    if len(found) > 1 and not as_json:
        print_table(statuses_at(found))
        return
    now = _status(context, run)
    if as_json:
        tell_json(counted(now))
    else:
        tell("\n".join(f"{name:<12}{text}" for name, text in describe(now) if text))


def _show_members(gang: GangFolder, *, as_json: bool) -> None:
    # Those that are damaged too.
    there = [path for path in gang.members if (path / RUN_FILE).exists()]
    found = {path: Status(state="not started", run_dir=str(path)) for path in gang.members}
    found |= zip(there, statuses_at(there), strict=True)
    if as_json:
        rows = [{"task": task_name(path), **counted(each)} for path, each in found.items()]
        tell_json({"members": rows})
    else:
        print_table(list(found.values()))


def _status(context: click.Context, run: Path | RemotePlace | None) -> Status:
    if not isinstance(run, RemotePlace):
        return status_of(find_run(run), of_all=True)
    return replace(stored_status(open_existing(fetched(context, run))), run_dir=run.url)


def describe(status: Status) -> list[tuple[str, str]]:
    share = status.input_share
    return [
        ("run", status.run_dir),
        ("state", _state(status)),
        ("step", _position(status)),
        ("rate", rate_text(status)),
        ("progress", _progress(status)),
        ("loss", loss_text(status, digits=6)),
        ("best", best_text(status, digits=6)),
        ("saved", _saved(status)),
        ("resume", level_text(status.level, status.level_reason)),
        ("memory", _memory(status)),
        ("input", "" if share is None else f"{share:.0%} of step time spent waiting for it"),
        ("forecast", "; ".join(status.forecasts)),
        ("attempt", _attempt(status)),
        *_cluster(status),
    ]


def _cluster(status: Status) -> list[tuple[str, str]]:
    rows = [row for row in status.members if isinstance(row, dict)]
    leader = status.leader or next((str(row["task"]) for row in rows), "")
    return [
        ("cluster", f"led by {leader}" if leader else ""),
        *(("", _task(row)) for row in rows),
    ]


def _task(row: dict[str, JsonValue]) -> str:
    step = f"step {row['step']}" if row["step"] else ""  # 0 also of a server, which takes none
    details = ", ".join(filter(None, (f"{row['phase']}".replace("_", " "), step, f"{row['host']}")))
    text = f"{row['task']}: {row['state']}".replace("_", " ")
    return f"{text} ({details})" if details else text


def _state(status: Status) -> str:
    details = [f"pid {status.pid}" if status.pid else "", status.phase.replace("_", " ")]
    if status.exit_code is not None:
        details.append(f"exit code {status.exit_code}")
    text = ", ".join(detail for detail in details if detail)
    return f"{status.state} ({text})" if text else status.state


def _position(status: Status) -> str:
    place = place_text(status, of=" of ")
    if status.step_in_epoch is not None and ", epoch" in place:
        place += f", step {status.step_in_epoch} of the epoch"
    return replay_text(status) or place


def _progress(status: Status) -> str:
    if status.supervisor_pid is None:
        return ""
    if not status.on_hang:
        return "not watched"
    if status.silent_seconds is None or status.patience_seconds is None:
        return f"watched once training starts (--on-hang {status.on_hang})"
    ago = duration(status.silent_seconds)
    if status.standstill:
        return f"none for {ago}: {status.standstill}"
    longest = duration(status.patience_seconds)
    return f"{ago} ago, a hang after {longest} (--on-hang {status.on_hang})"


def _attempt(status: Status) -> str:
    if not status.attempt:
        return ""
    left = f", {status.restarts_left} of {status.restarts} restarts left" if status.restarts else ""
    back = f", rolled back {status.rollbacks}x" if status.rollbacks else ""
    return f"{status.attempt}{left}{back}"


def _saved(status: Status) -> str:
    if status.checkpoint_step is None:
        return "nothing yet"
    age = status.checkpoint_age_seconds
    parts = [f"step {status.checkpoint_step}"]
    parts.append("" if age is None else f"{duration(age)} ago")
    common = status.common_step
    parts.append("" if common is None else f"step {common} by all members")
    every = status.checkpoint_interval_seconds
    parts.append("" if every is None else f"every {duration(every)}")
    parts.append(f"snapshots in memory were lost {status.losses} times" if status.losses else "")
    return ", ".join(part for part in parts if part)


def _memory(status: Status) -> str:
    own, snapshots = status.rss_bytes, status.snapshot_memory_bytes
    parts = ["" if own is None else f"{own >> 20} MiB"]
    if own is not None and status.memory_bytes is not None and status.memory_bytes > own:
        parts.append(f"{status.memory_bytes >> 20} MiB with its children")
    if snapshots is not None:
        where = " in a file in the run folder" if status.snapshot_backing == "file" else ""
        limit = status.snapshot_limit_bytes
        allowed = "half of the free memory" if limit is None else f"{limit >> 20} MiB"
        parts.append(f"{snapshots >> 20} MiB for snapshots{where} (limit: {allowed})")
    return ", ".join(part for part in parts if part)
