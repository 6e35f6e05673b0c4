"""The process that fetches for `pitstop status`, `why`, `ls` and `checkpoints` of a URL.

Prints one JSON object: what was found, or the error to raise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from pitstop.errors import PitstopError, RunNotFound, UserError
from pitstop.remote.copies import read_identity
from pitstop.remote.fetch import fetch_manifests, fetch_records
from pitstop.remote.storage import Storage
from pitstop.store.run_folder import RUN_FILE


def fetch(url: str, target: Path) -> None:
    """Fetches a run but for its checkpoints' content, or raises `RunNotFound`, `StorageFault`."""
    storage = Storage(url)
    if read_identity(storage) is None:
        raise RunNotFound(f"There is no run at {url}.", "List runs with `pitstop ls URL`.")
    sizes = storage.sizes()
    fetch_records(storage, target, sizes)
    fetch_manifests(storage, target, sizes)


def find(url: str) -> Iterator[str]:
    """The URLs of the runs at a URL, or right below it; `StorageFault` where it cannot be read."""
    storage = Storage(url)
    if storage.read(RUN_FILE) is not None:
        yield url
        return
    for name in sorted(storage.folders()):
        if storage.read(f"{name}/{RUN_FILE}") is not None:
            yield f"{url}/{name}"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="pitstop-remote-reading")
    parser.add_argument("url")
    parser.add_argument("--into", type=Path, help="fetch the run; without it, list runs")
    options = parser.parse_args(argv)
    try:
        if options.into is None:
            answer: dict[str, object] = {"found": list(find(options.url))}
        else:
            fetch(options.url, options.into)
            answer = {"found": [options.url]}
    except PitstopError as error:
        by_user = isinstance(error, UserError)
        answer = {"message": error.message, "remedy": error.remedy, "by_user": by_user}
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
