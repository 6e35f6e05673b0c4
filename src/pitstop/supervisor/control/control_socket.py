"""The socket of a run: where trainers report and commands arrive."""

import os
import secrets
import socket
import stat
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pitstop.errors import EnvironmentFault
from pitstop.link.wire import Connection

_CREDENTIALS = struct.Struct("iII")  # struct ucred: pid, uid, gid
_LONGEST_PATH_BYTES = 107
_BACKLOG = 16
_PATIENCE_SECONDS = 2.0


class ControlSocket:
    """Listens in a private folder, not the run's: the path of a socket has at most 107 bytes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises `OSError` where no folder for the socket can be made."""
        name = f"{os.getpid()}-{secrets.token_hex(4)}.sock"
        self.path = _socket_folder(environment, len(name)) / name
        _remove_abandoned(self.path.parent)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Under another name until it listens: others remove sockets on which nobody listens.
        draft = self.path.with_suffix(".new")
        self._socket.bind(str(draft))
        draft.chmod(0o600)
        self._socket.listen(_BACKLOG)
        self._socket.setblocking(False)
        draft.rename(self.path)

    @classmethod
    def open(cls, purpose: str) -> Self:
        """Listens as the environment says; an `EnvironmentFault` names the purpose."""
        try:
            return cls(os.environ)
        except OSError as error:
            raise EnvironmentFault(
                f"Cannot create the socket for the {purpose}: {error.strerror}.",
                "Set XDG_RUNTIME_DIR or TMPDIR to your own folder on a local disk.",
            ) from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> Connection | None:
        """The next client, None when it has gone again."""
        try:
            sock, _ = self._socket.accept()
        except OSError:
            return None
        # A client that does not read its answer must not delay the run.
        sock.settimeout(_PATIENCE_SECONDS)
        return Connection(sock)

    def close(self) -> None:
        self._socket.close()
        self.path.unlink(missing_ok=True)


def peer_of(connection: Connection) -> tuple[int, int]:
    """Process id and user of the other end, from the kernel."""
    data = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return pid, uid


def _remove_abandoned(folder: Path) -> None:
    """Removes the sockets of supervisors that were killed."""
    for path in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            # A suspended one, which does not answer, must not delay us.
            probe.setblocking(False)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue


def _socket_folder(environment: Mapping[str, str], name_bytes: int) -> Path:
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    folders = [Path(runtime) / "pitstop"] if runtime else []
    folders.append(Path(tempfile.gettempdir()) / f"pitstop-{os.getuid()}")
    for folder in folders:
        short = len(os.fsencode(folder)) + 1 + name_bytes <= _LONGEST_PATH_BYTES
        if short and _make_private(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="pitstop-", dir="/tmp"))


def _make_private(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return False
    ours = state.st_uid == os.getuid() and not state.st_mode & 0o077
    return stat.S_ISDIR(state.st_mode) and ours and os.access(folder, os.W_OK | os.X_OK)
