"""Who opens a file; and how Pitstop reads and writes files, which its own audit hooks ignore."""

import contextlib
import hashlib
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path

_MOST_DIGESTED_BYTES = 1 << 16
_CODE = (".py", ".pyc", ".so", ".pth")
_OF_PYTHON = ("bin", "etc", "include", "lib", "lib64", "share")
_ELSEWHERE = (
    # A project may be below a prefix: `/usr/src/app`, or a folder that is an environment itself.
    *(f"{each}/{name}/" for each in {sys.prefix, sys.base_prefix} for name in _OF_PYTHON),
    *("/proc/", "/sys/", "/dev/"),
)
_OWN = str(Path(__file__).parents[1]) + os.sep
_IMPORTING = "<frozen importlib"
_FRAMEWORKS = tuple(f"{os.sep}{name}{os.sep}" for name in ("keras", "tensorflow"))


def read(path: str, most_bytes: int, offset_bytes: int = 0) -> tuple[bytes, int]:
    """At most so many bytes of a file, and its size; -1 for what is no file."""
    if not Path(path).is_file():
        return b"", -1  # to open a pipe waits for a writer
    try:
        with open(path, "rb") as file:  # noqa: PTH123  see `is_ignored`
            file.seek(offset_bytes)
            return file.read(most_bytes), file.seek(0, os.SEEK_END)
    except OSError:
        return b"", -1


def size_bytes(path: str) -> int:
    """The size of a file; 0 if there is none."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def replace_end(path: str, offset_bytes: int, content: bytes) -> None:
    """Replaces the content of a file from this offset on; raises `OSError`."""
    with open(path, "r+b") as file:  # noqa: PTH123  see `is_ignored`
        file.seek(offset_bytes)
        file.write(content)
        file.truncate()


def make(path: str, content: bytes, changed_seconds: float) -> None:
    """Makes a file, and its folders, with this content and time; raises `OSError`."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as file:  # noqa: PTH123  see `is_ignored`
        file.write(content)
    os.utime(path, (changed_seconds, changed_seconds))


def is_ignored(frame: types.FrameType | None) -> bool:
    """Whether Pitstop looks into the file, or Python imports a module: TensorFlow has thousands."""
    if frame is None:
        return False
    return frame.f_code.co_filename.startswith((_OWN, _IMPORTING))


def changed_seconds(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except (OSError, ValueError):
        return 0.0


def database_changed(path: str) -> float:
    return max(changed_seconds(each) for each in (path, f"{path}-wal"))


def written_within(
    files: Mapping[str, float], attempt_dir: Path, since_seconds: float, until_seconds: float
) -> list[str]:
    """The `files` (when each was changed) of that time that are outside of the run's folder."""
    run_dir = str(attempt_dir.parent.parent.absolute()) + os.sep
    return [
        path
        for path, changed in files.items()
        if since_seconds <= changed < until_seconds and not path.startswith(run_dir)
    ]


def digest_of(path: str) -> str:
    """A digest of the size and the first 64 KiB; empty if it is no file, or cannot be read."""
    content, size_bytes = read(path, _MOST_DIGESTED_BYTES)
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    return f"{size_bytes} {digest}" if size_bytes >= 0 else ""


def working_folder() -> str:
    """The working directory; empty if it was removed, such as a temporary one."""
    with contextlib.suppress(OSError):
        return os.getcwd()  # noqa: PTH109
    return ""


def is_code(path: str) -> bool:
    # A project may be in a hidden folder.
    folders = Path(path.removeprefix(f"{working_folder()}{os.sep}")).parent.parts
    hidden = any(part.startswith(".") for part in folders if part.strip("."))
    return hidden or path.endswith(_CODE) or path.startswith(_ELSEWHERE)


def is_of_project(path: str) -> bool:
    """Whether a path is below the working directory, without `..`, and no code."""
    here = working_folder()
    is_below = bool(here) and path.startswith(os.path.join(here, ""))  # noqa: PTH118
    return is_below and os.path.normpath(path) == path and not is_code(path)


def opened() -> set[str]:
    """The real paths of what this process has open."""
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115
    return found


def is_opened_by_script(frame: types.FrameType | None) -> bool:
    """Whether the script opens the file, and no framework and not Pitstop."""
    # Loaded where a training runs; each Python process of a run loads this module.
    from pitstop.engine.frames import is_of_script  # noqa: PLC0415
    from pitstop.engine.program import is_own_file  # noqa: PLC0415

    while frame is not None:
        file = frame.f_code.co_filename
        if is_of_script(frame.f_code, frame.f_globals):
            return True
        if is_own_file(file) or any(name in file for name in _FRAMEWORKS):
            return False
        frame = frame.f_back
    return False
