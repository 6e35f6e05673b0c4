"""What an OSError from the disk means, and what to do about it."""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping

from pitstop.errors import EnvironmentFault
from pitstop.record import Frozen


class DiskFault(Frozen):
    """A cause in plain words, and a remedy as one sentence."""

    cause: str
    remedy: str


_ELSEWHERE = "or use another disk with --run-dir."

_NO_PERMISSION = DiskFault("this user has no permission", f"Change its owner or mode, {_ELSEWHERE}")
_NO_LOCKS = DiskFault(
    "the file system has no locks",
    "Mount it with locks (NFS: a running lock service, no `nolock`), use a local disk with "
    "--run-dir, or name the folder as a URL, file:///FOLDER: the run is then copied to it.",
)

_FAULTS: Mapping[int, DiskFault] = {
    errno.ENOSPC: DiskFault("the disk is full", f"Free space on it, {_ELSEWHERE}"),
    errno.EDQUOT: DiskFault(
        "this user's disk quota is exceeded", f"Remove files, ask for a larger quota, {_ELSEWHERE}"
    ),
    errno.EROFS: DiskFault("the file system is read-only", f"Mount it writable, {_ELSEWHERE}"),
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EMFILE: DiskFault(
        "the process has too many open files", "Raise the limit, for example `ulimit -n 65536`."
    ),
    errno.ENFILE: DiskFault(
        "the machine has too many open files", "Raise the limit fs.file-max with sysctl."
    ),
    errno.EFBIG: DiskFault(
        "the file is larger than the file size limit", "Raise the limit: `ulimit -f unlimited`."
    ),
    errno.EIO: DiskFault(
        "the disk reports an input/output error",
        f"Look for disk errors in `dmesg`, {_ELSEWHERE}",
    ),
    errno.ENOENT: DiskFault(
        "its folder is gone", "Do not move or remove the folder of a live run."
    ),
    errno.ENOTDIR: DiskFault("part of the path is a file", "Use another folder with --run-dir."),
    errno.ESTALE: DiskFault(
        "the network file system lost it",
        "Check the mount, or use a local disk with --run-dir.",
    ),
    errno.ENOLCK: _NO_LOCKS,
    errno.EOPNOTSUPP: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
    errno.ENAMETOOLONG: DiskFault("its name is too long", "Use a shorter path with --run-dir."),
}


def explain(error: OSError) -> DiskFault:
    """The cause and remedy of an OSError; unknown ones in the system's words."""
    number = error.errno or 0
    fallback = DiskFault(os.strerror(number), f"Check the disk, {_ELSEWHERE}")
    return _FAULTS.get(number, fallback)


@contextlib.contextmanager
def explained(what: str, kind: type[EnvironmentFault], then: str = "") -> Iterator[None]:
    """An OSError becomes an error of this kind: what cannot be done, why, and the remedy."""
    try:
        yield
    except OSError as error:
        fault = explain(error)
        raise kind(f"{what}: {fault.cause}.", f"{fault.remedy} {then}".rstrip()) from error
