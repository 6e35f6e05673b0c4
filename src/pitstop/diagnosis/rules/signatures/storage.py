"""Exceptions about files, disks and permissions."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import SYSTEM, Signature, classes, words

_MORE_SHM = "Give the container more (`docker run --shm-size=8g`), or clear /dev/shm."

STORAGE = (
    Signature(
        "too_many_open_files",
        "The process had too many files open",
        ("Run `ulimit -n 65536` before the run; lower `cycle_length` and parallel readers.",),
        words(
            "Too many open files", r"\[(?:Errno 24|WinError 4)\]", r"received \d+ items of ancdata"
        ),
        limit="open_files",
    ),
    Signature(
        "shm_exhausted",
        "Shared memory (/dev/shm) is full",
        (_MORE_SHM, "PyTorch: fewer DataLoader workers, or the sharing strategy `file_system`."),
        words(
            r"(?:No space left on device|not enough space).*/dev/shm",
            r"(?:/dev/shm|</torch_).*No space left on device",
            "insufficient shared memory",
            "out of shared memory",
            "Bus error.*worker",
            "DataLoader worker.*killed by signal: Bus error",
        ),
    ),
    Signature(
        "network_or_download_failure",
        "A file on a server of files went away while it was read",
        ("Mount the file system again, or copy the data to a local disk first.",),
        words("Stale (?:NFS )?file handle", r"\[Errno 116\]"),
        SYSTEM,
    ),
    Signature(
        "disk_full",
        "The disk quota is used up",
        ("Look at `quota -s` (`df` shows free space all the same), then delete old checkpoints.",),
        words("[Qq]uota exceeded", r"\[Errno 122\]"),
    ),
    Signature(
        "disk_full",
        "A file grew over the limit on file sizes",
        ("Run `ulimit -f unlimited` before the run, or write to another file system.",),
        words("File too large", r"\[Errno 27\]"),
        SYSTEM,
        limit="file_size_bytes",
    ),
    Signature(
        "disk_full",
        "The disk is full",
        ("Free space where the message points (`df -h` and `df -i`), or write elsewhere.",),
        words(
            "No space left on device",
            r"\[WinError (?:39|112)\]",
            r"\[Errno 28\]",
            "errno = 28",
            "not enough space on the disk",
            "disk is full",
            "StorageFull",
            "Not enough free disk space",
        ),
    ),
    Signature(
        "disk_full",
        "A checkpoint could not be written to its end",
        ("Look at the space that is left (`df -h`); a full disk is the usual reason.",),
        words(r"PytorchStreamWriter failed writing", r"inline_container\.cc.*unexpected pos"),
        confidence=0.75,
    ),
    Signature(
        "permission_or_readonly",
        "The file system is read-only",
        ("Write elsewhere, or find out why it went read-only (`dmesg | grep -i remount`).",),
        words("Read-only file system", r"\[Errno 30\]"),
    ),
    Signature(
        "permission_or_readonly",
        "Access was denied",
        ("Check the owner and mode of the path in the message (`ls -ld PATH`) and the user.",),
        words(
            "Permission denied",
            "Operation not permitted",
            r"\[Errno 13?\]",
            r"\[WinError (?:5|19|32)\]",
        ),
        classes("PermissionError", SYSTEM),
    ),
    Signature(
        "permission_or_readonly",
        "Another process holds a lock on the file",
        ("Find who has it open (`lsof FILE`); on NFS without locks, HDF5_USE_FILE_LOCKING=FALSE.",),
        words(r"unable to lock file", r"database is locked"),
        confidence=0.85,
    ),
    Signature(
        "permission_or_readonly",
        "Access was denied",
        ("Check which account the job runs as, and what it may read and write there.",),
        words("AccessDenied", "Access is denied", r"does not have [\w.]+ access"),
        confidence=0.9,
    ),
    Signature(
        "permission_or_readonly",
        "Access was denied",
        ("Check the owner and mode of the path in the message (`ls -ld PATH`) and the user.",),
        classes=classes("PermissionError PermissionDeniedError UnauthenticatedError"),
    ),
)
