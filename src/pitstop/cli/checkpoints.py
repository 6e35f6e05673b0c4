"""`pitstop checkpoints`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pitstop.cli.live_run import find_run
from pitstop.errors import CheckpointCorrupt
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.lock import RunLock, own_record
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import RunFolder

_DAMAGED = 1


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("action", type=click.Choice(["list", "verify", "prune"]), default="list")
@click.option("--keep", type=click.IntRange(min=1), default=3, help="prune: how many to keep.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list.")
@click.pass_context
def checkpoints(context: click.Context, run: Path, action: str, keep: int, as_json: bool) -> None:
    """List, verify or prune the checkpoints of RUN.

    `verify` reads every byte and exits 1 when something is damaged; `prune`
    keeps the newest ones and every end of a fit.
    """
    folder = find_run(run)
    if action == "prune":
        found = _prune(folder, keep)
    else:
        check = _verify if action == "verify" else _list
        catalog = Catalog(folder.checkpoints)
        found = [check(catalog, entry) for entry in catalog.entries()]
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(map(_line, found)))
    context.exit(_DAMAGED if any(row.get("problem") for row in found) else 0)


def _list(catalog: Catalog, entry: CheckpointEntry) -> dict[str, Any]:
    del catalog
    return _describe(entry, entry.problem)


def _verify(catalog: Catalog, entry: CheckpointEntry) -> dict[str, Any]:
    try:
        catalog.verify(entry)
    except CheckpointCorrupt as damage:
        return _describe(entry, damage.reason)
    return {**_describe(entry, ""), "verified": True}


def _prune(folder: RunFolder, keep: int) -> list[dict[str, Any]]:
    # A live run prunes by itself, and another writer would get in its way.
    lock = RunLock.acquire(folder.lock, own_record())
    try:
        gone = Catalog(folder.checkpoints).prune(RetentionPolicy(keep))
    finally:
        lock.close()
    return [{"name": path.name, "removed": True} for path in gone]


def _describe(entry: CheckpointEntry, problem: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": entry.path.name, "path": str(entry.path), "problem": problem}
    if entry.manifest is not None:
        size_bytes = sum(file.size_bytes for file in entry.manifest.files.values())
        row |= {"sequence": entry.manifest.sequence, "size_bytes": size_bytes}
        row |= dataclasses.asdict(entry.manifest.info)
    return row


def _line(row: Mapping[str, Any]) -> str:
    if row.get("removed"):
        return f"removed {row['name']}"
    verdict = f"DAMAGED: {row['problem']}" if row["problem"] else _verdict(row)
    if "step" not in row:
        return f"{row['name']}  {verdict}"
    size = f"{row['size_bytes'] / 1e6:.1f} MB"
    return f"{row['name']}  epoch {row['epoch'] + 1}  {size}  {row['reason']}  {verdict}".rstrip()


def _verdict(row: Mapping[str, Any]) -> str:
    return "verified" if row.get("verified") else str(row["milestone"])
