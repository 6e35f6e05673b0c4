"""Disks, files, servers of files (48 to 51)."""

from __future__ import annotations

import errno
from dataclasses import replace

from benchmarks.faults.ground import disk, faulty_files, namespace, words
from benchmarks.faults.scenario import Scenario, scenario

_FULL = namespace("cat /dev/zero > {folder}/disk/ballast 2>/dev/null; true")
_TARGET = words(FAULT_TARGET="{folder}/disk/model")


def _full(name: str, way: str, args: str = "") -> Scenario:
    return scenario(
        name,
        "disk_full",
        args=f"--callbacks {way} {args}",
        among="storage",
        says="disk is full",
        grounds=(disk(16), _FULL, _TARGET),
    )


STORAGE: tuple[Scenario, ...] = (
    _full("48a-disk-full-keras", "keras", "--decoys memory"),
    _full("48b-disk-full-h5", "h5", "--model digits"),
    _full("48c-disk-full-checkpoint", "checkpoint", "--model text --input pipeline"),
    scenario(
        "48d-disk-quota",
        "disk_full",
        args="--callbacks keras",
        among="storage",
        says="quota",
        grounds=(
            faulty_files("disk-quota/model", errno.EDQUOT, "write"),
            words(outer="mkdir {folder}/disk-quota", FAULT_TARGET="{folder}/disk-quota/model"),
        ),
    ),
    replace(
        scenario(
            "48e-file-size-limit",
            "disk_full",
            args="--model digits --callbacks keras",
            among="storage",
            says="file size",
            grounds=(words(inner="ulimit -f 8"),),
        ),
        # The log itself would grow over the limit.
        plain=False,
    ),
    scenario(
        "49a-read-only-disk",
        "permission_or_readonly",
        args="--callbacks keras --decoys disk",
        among="storage",
        says="read-only",
        grounds=(disk(16, ",ro"), _TARGET),
    ),
    scenario(
        "49b-access-denied",
        "permission_or_readonly",
        fault="denied@end",
        among="storage",
        says="Permission denied",
    ),
    scenario(
        "50-too-many-open-files",
        "too_many_open_files",
        args="--model text",
        fault="files@batch:12",
        among="storage",
    ),
    scenario(
        "51a-input-output-error",
        "data_error",
        args="--input records",
        data="unreadable",
        among="storage",
        says="Input/output error",
        grounds=(faulty_files("remote.tfrecord", errno.EIO, "read"),),
    ),
    scenario(
        "51b-stale-file-handle",
        "network_or_download_failure",
        args="--model digits --input records",
        data="unreadable",
        among="storage",
        says="Stale",
        grounds=(faulty_files("remote.tfrecord", errno.ESTALE, "read"),),
    ),
)
