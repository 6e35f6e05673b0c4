"""Starts a supervisor beside a script that was started without one."""

import json
import os
import subprocess
import sys
from dataclasses import field
from typing import Any

from pitstop.cluster.spec import REPLICA, members
from pitstop.engine.connection.request import take
from pitstop.errors import EnvironmentFault, UserError
from pitstop.link.settings import ENV_COMPANION, ENV_ENTROPY, ENV_SOCKET, Settings, own_environment
from pitstop.record import Frozen

_MODULE = "pitstop.cli.companion"
_RAY_WORKER = "ray/_private/workers/default_worker.py"
_HOSTED = {"kernel": ["-m", "ipykernel_launcher"], "ray": [_RAY_WORKER]}
"""By host, the part of its command that is the same in each attempt."""


class RunUnavailable(UserError):
    """The run's folder cannot be used: in use, unwritable, or of another format."""


class CompanionRequest(Frozen):
    """What the companion is to supervise; `max_seconds` None asks the scheduler's environment."""

    run_dir: str | os.PathLike[str]
    settings: Settings = field(default_factory=Settings)
    max_seconds: float | None = None
    kernel: bool = False

    @property
    def host(self) -> str:
        """What runs the training: a notebook's "kernel", a worker of "ray"; of a script empty."""
        if self.kernel:
            return "kernel"
        return "ray" if any(each.endswith(_RAY_WORKER) for each in sys.orig_argv) else ""

    def to_json(self) -> dict[str, Any]:
        words = sys.orig_argv if len(sys.orig_argv) > 1 else [sys.executable, *sys.argv]
        return {
            "run_dir": (_absolute if self.host == "ray" else os.fspath)(self.run_dir),
            "command": [sys.executable, *_HOSTED.get(self.host, words[1:])],
            "settings": vars(self.settings),
            "max_seconds": self.max_seconds,
            "trainer_pid": os.getpid(),
            "kernel": self.kernel,
        }


def start_companion(request: CompanionRequest) -> str:
    """Starts a supervisor for this process, or takes the host of an export; its socket's path."""
    host = os.environ.get(ENV_COMPANION)
    if host:
        os.environ[ENV_SOCKET] = host
        return host
    companion = launch(request)
    # The command has left a process that is no child of this one.
    companion.process.wait()
    os.environ[ENV_SOCKET] = companion.socket_path
    if members(os.environ) > 1:
        # Its strategy may have been made before anybody looked.
        take(companion.socket_path, REPLICA, {}, "")
    return companion.socket_path


class Companion(Frozen):
    process: subprocess.Popen[bytes]
    socket_path: str


def launch(request: CompanionRequest, words: int | None = None, entropy: str = "") -> Companion:
    """See `start_companion`; `words`: where it logs, `entropy`: of a run that it makes.

    Raises `RunUnavailable`, or `EnvironmentFault` where none came up.
    """
    answer_fd, its_fd = os.pipe()
    try:
        companion = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, json.dumps(request.to_json()), str(its_fd)],
            stdin=subprocess.DEVNULL,
            stderr=words,
            pass_fds=[its_fd],
            env=own_environment(os.environ | ({ENV_ENTROPY: entropy} if entropy else {})),
            # A session of its own: the terminal's Ctrl-C is the script's.
            start_new_session=True,
            # A worker of Ray gets a new folder each time, too.
            cwd=os.sep if request.host == "ray" else None,
        )
    finally:
        os.close(its_fd)
    with os.fdopen(answer_fd, encoding="utf-8") as answer:
        line = answer.readline()
    said = json.loads(line) if line else {}
    if "socket" in said:
        return Companion(companion, str(said["socket"]))
    companion.wait()
    if "message" in said:
        raise RunUnavailable(said["message"], said["remedy"])
    raise EnvironmentFault(
        "The supervisor of this run did not start; see its message above.",
        "Run the script with `pitstop run`, which gives more details.",
    )


def _absolute(place: str | os.PathLike[str]) -> str:
    name = os.fspath(place)
    return name if "://" in name else os.path.abspath(name)  # noqa: PTH100
