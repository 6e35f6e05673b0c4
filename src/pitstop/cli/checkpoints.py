"""`pitstop checkpoints`."""

import dataclasses
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from pitstop.cli.chosen_run import find_run
from pitstop.cli.echo import tell, tell_json
from pitstop.cli.places import PLACE, fetched
from pitstop.cli.run_options import Retention, retention_options
from pitstop.errors import CheckpointCorrupt, UserError
from pitstop.remote.place import RemotePlace
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.lock import RunLock, own_record
from pitstop.store.names import is_shared
from pitstop.store.retention import RetentionPolicy, last_policy, why_kept
from pitstop.store.run_folder import RunFolder, open_existing


@click.command()
@click.argument("run", type=PLACE)
@click.argument("action", type=click.Choice(["list", "verify", "prune"]), default="list")
@retention_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.pass_context
def checkpoints(
    context: click.Context,
    run: Path | RemotePlace,
    action: str,
    *,
    retention: Retention,
    as_json: bool,
) -> None:
    """List, verify or prune the checkpoints of RUN.

    `list` shows why each is kept; `verify` reads every byte and exits with 1 if
    something is damaged; `prune` removes those that no rule keeps.  Options that
    are not given are as at the last start of RUN.  `prune` always keeps the newest,
    the newest that shares no bytes with it, the named ones, and the end of every
    fit.  For a URL, only `list` works.
    """
    folder = _folder(context, run, action)
    policy = retention.over(last_policy(folder))
    found = _ACTIONS[action](folder, policy)
    tell_json(found) if as_json else tell("\n".join(map(_line, found)))
    context.exit(1 if any(row.get("problem") for row in found) else 0)


def _folder(context: click.Context, run: Path | RemotePlace, action: str) -> RunFolder:
    if not isinstance(run, RemotePlace):
        return find_run(run)
    if action != "list":
        raise UserError(
            f"`{action}` needs the local folder of {run.url}.",
            "`pitstop run` fetches it, and verifies what it fetches.",
        )
    return open_existing(fetched(context, run))


def _list(folder: RunFolder, policy: RetentionPolicy) -> list[dict[str, Any]]:
    entries = Catalog(folder.checkpoints).entries()
    kept = why_kept((entry.manifest for entry in entries if entry.manifest), policy)
    rows = [_describe(entry, entry.problem) for entry in entries]
    return [row | {"kept": list(kept.get(row.get("sequence", 0), ()))} for row in rows]


def _verify(folder: RunFolder, policy: RetentionPolicy) -> list[dict[str, Any]]:
    del policy
    catalog = Catalog(folder.checkpoints)
    return [_verify_one(catalog, entry) for entry in catalog.entries()]


def _verify_one(catalog: Catalog, entry: CheckpointEntry) -> dict[str, Any]:
    try:
        catalog.verify(entry)
    except CheckpointCorrupt as damage:
        return _describe(entry, damage.reason)
    return {**_describe(entry, ""), "verified": True}


def _prune(folder: RunFolder, policy: RetentionPolicy) -> list[dict[str, Any]]:
    # A live run prunes by itself, and another writer would get in its way.
    with closing(RunLock.acquire(folder.lock, own_record())):
        gone = Catalog(folder.checkpoints).prune(policy)
    return [{"checkpoint": path.name, "removed": True} for path in gone]


_ACTIONS = {"list": _list, "verify": _verify, "prune": _prune}


def _describe(entry: CheckpointEntry, problem: str) -> dict[str, Any]:
    row: dict[str, Any] = {"problem": problem}
    if entry.manifest is not None:
        files = entry.manifest.files
        sizes = {name: file.size_bytes for name, file in files.items()}
        own_bytes = sum(size for name, size in sizes.items() if not is_shared(name))
        row |= {"sequence": entry.manifest.sequence, "size_bytes": sum(sizes.values())}
        row |= {"own_bytes": own_bytes}
        # Counted from 1, as the text counts.
        row |= dataclasses.asdict(entry.manifest.info) | {"epoch": entry.manifest.info.epoch + 1}
    return {"checkpoint": entry.path.name, "path": str(entry.path)} | row


def _line(row: Mapping[str, Any]) -> str:
    if row.get("removed"):
        return f"removed {row['checkpoint']}"
    verdict = f"DAMAGED: {row['problem']}" if row["problem"] else _verdict(row)
    if "step" not in row:
        return f"{row['checkpoint']}  {verdict}"
    words = [row["checkpoint"], f"epoch {row['epoch']}", _size(row), row["reason"]]
    words.append(f"named {row['name']}" if row["name"] else "")
    words += [f"{name} {value:.6g}" for name, value in row["metrics"].items()]
    return "  ".join(word for word in [*words, verdict] if word)


def _size(row: Mapping[str, Any]) -> str:
    size = f"{row['size_bytes'] / 1e6:.1f} MB"
    shares = row["own_bytes"] < row["size_bytes"]
    return f"{size}, {row['own_bytes'] / 1e6:.1f} its own" if shares else size


def _verdict(row: Mapping[str, Any]) -> str:
    if row.get("verified"):
        return "verified"
    kept = ", ".join(row.get("kept", ()))
    return f"(kept: {kept})" if kept else "(to be pruned)"
