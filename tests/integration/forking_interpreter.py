"""An interpreter that has imported some modules, and is forked for each script.

`forking_interpreter.py SOCKET MODULE ...` serves; `forked_client.py` is called like a `python`
and has a fork run its script.

Importing TensorFlow takes most of the time of a small training.  The import starts no thread
and runs no op, so that a fork of a process which only imported it is as good as a new one; what
a new one has of its own (random streams, environment, arguments, Pitstop's import hook) is
made anew.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import types
from pathlib import Path
from typing import Any

HOOK = "sitecustomize.py"
LONGEST_REQUEST_BYTES = 1 << 20
_CREDENTIALS = struct.Struct("3i")
"""What the kernel tells of a socket's other end: process, user, group."""


def serve(address: str, modules: list[str]) -> None:
    """Answers until its parent is gone."""
    for module in modules:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        parent = os.getppid()
        while os.getppid() == parent:
            if not select.select([listener], [], [], 1.0)[0]:
                continue
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(connection)
            connection.close()


def _attend(connection: socket.socket) -> None:
    """Has a fork run the script that a client asks for, and tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST_BYTES, 3)
    script = os.fork()
    if script == 0:
        _enter_network(connection)
        connection.close()
        _become(json.loads(text), streams)
    for stream in streams:
        os.close(stream)
    process = os.pidfd_open(script)
    # A client that is gone was killed, and so is what it asked for.
    ready = select.select([process, connection.fileno()], [], [])[0]
    if process not in ready:
        os.kill(script, signal.SIGKILL)
    _, status = os.waitpid(script, 0)
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(status).encode())
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Makes this process what a new interpreter would be, and runs the script."""
    os.setsid()
    _open_streams(streams)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _reseed()
    path, *words = request["words"]
    sys.argv = [path, *words]
    sys.path[0] = str(Path(path).resolve().parent)
    os._exit(_ended_with(path))


def _enter_network(connection: socket.socket) -> None:
    """Makes the network of the client the script's own."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    client, _, _ = _CREDENTIALS.unpack(credentials)
    theirs, own = (Path("/proc", str(each), "ns", "net") for each in (client, "self"))
    if theirs.readlink() == own.readlink():
        return
    with theirs.open() as network:
        if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), 0):
            raise OSError(ctypes.get_errno(), "cannot enter the network of the client")


def _open_streams(streams: list[int]) -> None:
    for stream, number in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _reseed() -> None:
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _ended_with(path: str) -> int:
    code = 0
    try:
        _load_hook()
        _run_main(path)
    except SystemExit as exit_:
        code = _code_of(exit_)
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
        code = 1
    # What `Py_Finalize` does, as far as a script can tell.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _load_hook() -> None:
    """What Python itself does when it starts."""
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        hook = Path(folder) / HOOK
        if folder and hook.exists():
            runpy.run_path(str(hook))
            return


def _run_main(path: str) -> None:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    exec(compile(Path(path).read_bytes(), path, "exec"), main.__dict__)


def _code_of(exit_: SystemExit) -> int:
    if exit_.code is None or isinstance(exit_.code, int):
        return exit_.code or 0
    sys.stderr.write(f"{exit_.code}\n")
    return 1


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
