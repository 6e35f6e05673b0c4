"""The secret that the supervisors of one cluster share.

PITSTOP_CLUSTER_SECRET holds it, or a file that only the user can read.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import UserError

VARIABLE = "PITSTOP_CLUSTER_SECRET"
_LEAST_CHARACTERS = 16
_MOST_BYTES = 4096
_SET_IT = (
    f"Set {VARIABLE} to the same long random text for all members, such as the output of `openssl "
    "rand -hex 32`."
)


class SecretUnusable(UserError):
    """The secret of the cluster is too short, or others can read it."""


def find(environment: Mapping[str, str]) -> bytes:
    """The secret; the user's own file is made if there is none.  Else `SecretUnusable`."""
    if text := environment.get(VARIABLE, ""):
        if len(text) < _LEAST_CHARACTERS:
            raise SecretUnusable(
                f"{VARIABLE} has fewer than {_LEAST_CHARACTERS} characters.", _SET_IT
            )
        return text.encode()
    home = environment.get("HOME", "")
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if not settings:
        raise SecretUnusable("There is no home directory to store the secret in.", _SET_IT)
    path = Path(settings) / "pitstop" / "cluster.key"
    try:
        return _own(path)
    except OSError as error:
        raise SecretUnusable(
            f"{path} cannot be read or created: {error.strerror}.", _SET_IT
        ) from error


def _own(path: Path) -> bytes:
    if not path.exists():
        _make(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        known = os.fstat(descriptor)
        if not stat.S_ISREG(known.st_mode) or known.st_mode & 0o077 or known.st_uid != os.geteuid():
            raise SecretUnusable(
                f"{path}, the secret of your clusters, can be read or replaced by others.",
                f"Delete it to create a new one: rm {path}",
            )
        secret = file.read(_MOST_BYTES)
    if len(secret) < _LEAST_CHARACTERS:
        raise SecretUnusable(
            f"{path}, the secret of your clusters, is damaged.",
            f"Delete it to create a new one: rm {path}",
        )
    return secret


def _make(path: Path) -> None:
    """Two members may do this at the same time: the first file stays, and is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
