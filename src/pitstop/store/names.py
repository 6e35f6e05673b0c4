"""The names of checkpoint folders, and which of them mean what."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

QUARANTINE_DIR = "quarantine"

_CHECKPOINT = re.compile(r"\d{8,}(\.\d+)?")
_SHARED = re.compile(r"tensors-\d+\.safetensors")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
PARTIAL_PREFIX = ".partial-"
EXPIRED_PREFIX = ".expired-"


def checkpoint_names(step: int) -> Iterator[str]:
    return numbered_names(f"{step:08d}", first=2)


def numbered_names(base: str, first: int) -> Iterator[str]:
    return itertools.chain([base], (f"{base}.{number}" for number in itertools.count(first)))


def first_free(folder: Path, names: Iterable[str]) -> Path:
    paths = (folder / name for name in names)
    return next(path for path in paths if not path.is_symlink() and not path.exists())


def lasting_name(sequence: int) -> str:
    """What later checkpoints call the tensors file that checkpoint `sequence` wrote."""
    return f"tensors-{sequence}.safetensors"


def is_shared(name: str) -> bool:
    """Whether this file of a checkpoint was written by an earlier one."""
    return _SHARED.fullmatch(name) is not None


def is_file_name(name: str) -> bool:
    """Whether a file of a checkpoint may have this name: it leads nowhere else."""
    return _FILE.fullmatch(name) is not None


def is_checkpoint(name: str) -> bool:
    return _CHECKPOINT.fullmatch(name) is not None


def is_leftover(name: str) -> bool:
    return name.startswith((PARTIAL_PREFIX, EXPIRED_PREFIX))
