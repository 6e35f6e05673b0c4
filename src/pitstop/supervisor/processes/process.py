"""Starting the processes of a run, and collecting every one that ends."""

import ctypes
import errno
import functools
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pitstop
from pitstop.errors import CommandNotExecutable, CommandNotFound, EnvironmentFault, PitstopError
from pitstop.link.settings import ENV_SOCKET
from pitstop.record import Frozen

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Python ignores these; a program that it starts must not inherit that.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class StandardStreams(Frozen):
    """Descriptors that a new process gets as its input and output, -1 to inherit ours."""

    stdout: int = -1
    stderr: int = -1
    stdin: int = -1

    @property
    def wiring(self) -> list[tuple[int, int]]:
        pairs = ((self.stdin, 0), (self.stdout, 1), (self.stderr, 2))
        return [(fd, to) for fd, to in pairs if fd >= 0]


class Exit(Frozen):
    """A process that ended, as `os.wait4` tells; `usage` is None where it is no child of ours."""

    pid: int
    wait_status: int
    usage: resource.struct_rusage | None


def find_program(command: Sequence[str], search_path: str | None = None) -> str:
    """The file that the command's first word names; `CommandNotFound` or `CommandNotExecutable`."""
    name = command[0]
    found = shutil.which(name, path=search_path)
    if found is not None:
        return found
    if "/" in name and Path(name).exists():
        remedy = f"Run it with its interpreter (`python {name}`), or make it executable."
        raise CommandNotExecutable(f"{name} is not an executable program.", remedy)
    if name.startswith("-"):
        remedy = "`pitstop run --help-all` shows all options."
        raise CommandNotFound(f"Pitstop has no option {name}.", remedy)
    remedy = "Check its spelling, and that its environment is active (PATH)."
    if " " in name and shutil.which(name.split()[0], path=search_path):
        remedy = "Leave out the quotation marks around the command."
    raise CommandNotFound(f"There is no program {name!r}.", remedy)


def instrumented_environment(environment: Mapping[str, str], socket_path: str) -> dict[str, str]:
    earlier = environment.get("PYTHONPATH", "")
    search = str(hook_folder()) + (os.pathsep + earlier if earlier else "")
    return {**environment, "PYTHONPATH": search, ENV_SOCKET: socket_path}


def hook_folder() -> Path:
    return Path(pitstop.__file__).parent / "inject" / "site"


def pitstop_run(run_dir: Path, options: Sequence[str], command: Sequence[str]) -> list[str]:
    """`pitstop run` of this installation; modules in the present folder do not shadow ours."""
    program = [sys.executable, "-P", "-m", "pitstop.cli.main", "run", "--no-status-line"]
    return [*program, "--run-dir", str(run_dir), *options, "--", *command]


def spawn(
    program: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    streams: StandardStreams | None = None,
    inherit: Sequence[int] = (),
    signal_mask: frozenset[signal.Signals] = frozenset(),
    own_session: bool = True,
) -> int:
    """Starts a process as the leader of its own session; its pid, or `OSError`.

    That keeps the terminal's Ctrl-C and hang-up from it; a process group, without `own_session`,
    only the Ctrl-C.  `streams` are ours when not given; it gets the descriptors of `inherit` under
    the same numbers.
    """
    wiring = [*((fd, fd) for fd in inherit), *(streams or StandardStreams()).wiring]
    start = functools.partial(
        os.posix_spawn,
        program,
        list(command),
        dict(environment),
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in wiring],
        setsigmask=signal_mask,
        setsigdef=_PYTHON_IGNORES,
    )
    return start(setsid=True) if own_session else start(setpgroup=0)


def explain_refusal(program: str, error: OSError) -> PitstopError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOEXEC, errno.EACCES, errno.ENOENT):
        remedy = "Put its interpreter into the command, or fix its first line (#!)."
        return CommandNotExecutable(f"{program} cannot be executed: {reason}.", remedy)
    remedy = "Check `ulimit -u` and the machine's free memory."
    return EnvironmentFault(f"{program} cannot be started: {reason}.", remedy)


def adopt_orphans() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def stop_with_parent(parent_pid: int) -> None:
    """Sends this process a SIGTERM when the process that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGTERM)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def reap() -> Iterator[Exit]:
    while True:
        try:
            pid, wait_status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield Exit(pid, wait_status, usage)
