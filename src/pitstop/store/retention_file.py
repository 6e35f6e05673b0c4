"""What an attempt was told to keep, for those who prune or list its run later."""

from __future__ import annotations

import json

from pitstop.errors import RunFolderUnwritable
from pitstop.machine.regular_file import read_regular
from pitstop.store.disk_fault import explained
from pitstop.store.filesystem import replace_file
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import ATTEMPTS_DIR, RunFolder

RETENTION_FILE = "retention.json"


def write_policy(folder: RunFolder, attempt: int, policy: RetentionPolicy) -> None:
    """Writes the policy of an attempt into its folder.

    Raises:
        RunFolderUnwritable: the disk refused.
    """
    path = folder.attempt_dir(attempt) / RETENTION_FILE
    with explained(f"{path} cannot be written", RunFolderUnwritable):
        replace_file(path, json.dumps(policy.to_json()).encode() + b"\n")


def last_policy(folder: RunFolder) -> RetentionPolicy:
    """The policy of the last attempt that has one; else what is kept unless told otherwise."""
    attempts = folder.path / ATTEMPTS_DIR
    found = attempts.glob(f"*/{RETENTION_FILE}")
    for path in sorted(found, key=lambda path: _number(path.parent.name), reverse=True):
        try:
            return RetentionPolicy.from_json(json.loads(read_regular(path)))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return RetentionPolicy()


def _number(name: str) -> int:
    return int(name) if name.isdecimal() else 0
