"""What happens to a training from outside, by other processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

_GROWS = "import sys; kept = [b'x' * (1 << 24) for _ in range(int(sys.argv[1]) >> 24)]"
_MIB = 1 << 20
_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""FIFREEZE and FITHAW of the kernel's include/uapi/linux/fs.h."""


@dataclass(frozen=True)
class Scene:
    """A command that waits for what is to happen to it.

    Attributes:
        folder: where it works.
        command_pid: `pitstop run`, or the script's own command.
        ready_pid: the process that said it was ready: the script, or a data worker.
        log: what it prints, and what its scheduler would add.
        cgroup: the memory cgroup it is in, if one was made.
    """

    folder: Path
    command_pid: int
    ready_pid: int
    log: Path
    cgroup: Path | None

    def go(self) -> None:
        """Lets the script go on."""
        (self.folder / "go").touch()


Strike = Callable[[Scene], None]


def _kill(name: str, pid: int) -> None:
    subprocess.run(["kill", f"-{name}", str(pid)], check=True)


def signals_ready(name: str) -> Strike:
    """`kill -NAME` to the process that is ready."""
    return lambda scene: _kill(name, scene.ready_pid)


def signals_command(name: str) -> Strike:
    """`kill -NAME` to the command, past which no user sees."""
    return lambda scene: _kill(name, scene.command_pid)


def signals_as(sender: str, name: str, *, to_ready: bool = False) -> Strike:
    """A signal from a process that calls itself `sender` and is there a while longer."""

    def strike(scene: Scene) -> None:
        pid = scene.ready_pid if to_ready else scene.command_pid
        line = f'exec -a "{sender}" bash -c "kill -{name} {pid}; echo sent; sleep 5; true"'
        process = subprocess.Popen(["bash", "-c", line], cwd="/", stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()

    return strike


def signals_child_of_wrapper(name: str) -> Strike:
    """A signal to what the command wraps."""

    def strike(scene: Scene) -> None:
        for child in psutil.Process(scene.command_pid).children():
            _kill(name, child.pid)

    return strike


def slurm_ends(words: str, grace_seconds: float = 20.0) -> Strike:
    """What slurmstepd does: a line in the job's output, SIGTERM, and SIGKILL after KillWait."""
    line = f"slurmstepd: error: *** JOB 4711 ON node17 CANCELLED AT 2026-01-05T10:00:00{words} ***"
    ask = signals_as("slurmstepd: [4711.batch]", "TERM")

    def strike(scene: Scene) -> None:
        with scene.log.open("ab") as log:
            log.write(f"{line}\n".encode())
        ask(scene)
        scene.go()
        if not _ends(scene.command_pid, grace_seconds):
            _kill("KILL", scene.command_pid)

    return strike


def _ends(pid: int, seconds: float) -> bool:
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def neighbour_dies(mebibytes: int) -> Strike:
    """Another process of the same memory cgroup grows until the kernel kills it."""

    def strike(scene: Scene) -> None:
        assert scene.cgroup is not None
        _grow_in(scene.cgroup, mebibytes)

    return strike


def stranger_dies(scene: Scene) -> None:
    """A process in a cgroup that has nothing to do with the run is killed for memory."""
    parent = scene.cgroup.parent if scene.cgroup else None
    assert parent is not None
    other = parent / f"stranger-{scene.folder.name}"
    other.mkdir()
    try:
        limit = "memory.limit_in_bytes" if (parent / "memory.limit_in_bytes").exists() else ""
        (other / (limit or "memory.max")).write_text(str(64 * _MIB))
        _grow_in(other, 256)
    finally:
        other.rmdir()


def _grow_in(group: Path, mebibytes: int) -> None:
    # The kernel takes the process with the highest score, which is to be this one.
    enter = f'echo 1000 > /proc/self/oom_score_adj; echo $$ > {group}/cgroup.procs && exec "$@"'
    grow = [sys.executable, "-c", _GROWS, str(mebibytes * _MIB)]
    ended = subprocess.run(["sh", "-c", enter, "sh", *grow], check=False)
    if ended.returncode != -signal.SIGKILL:
        raise ChildProcessError(f"it was not killed, but ended with {ended.returncode}")


def pauses(seconds: float) -> Strike:
    """SIGSTOP, and SIGCONT after a while; for ever if the time is infinite."""

    def strike(scene: Scene) -> None:
        os.kill(scene.ready_pid, signal.SIGSTOP)
        if seconds < float("inf"):
            time.sleep(seconds)
            os.kill(scene.ready_pid, signal.SIGCONT)

    return strike


def suspends(seconds: float) -> Strike:
    """SIGSTOP; after a while somebody gives up, and ends the command."""

    def strike(scene: Scene) -> None:
        os.kill(scene.ready_pid, signal.SIGSTOP)
        time.sleep(seconds)
        _kill("TERM", scene.command_pid)

    return strike


def cuts_the_network(scene: Scene) -> None:
    """Takes down the only interface of the network namespace that the workers are in."""
    words = ["nsenter", "--net", "--target", str(scene.ready_pid), "ip", "link", "set", "lo"]
    subprocess.run([*words, "down"], check=True)


def removes(name: str) -> Strike:
    """Deletes a file that the training will want."""
    return lambda scene: (scene.folder / name).unlink()


def freezes_the_disk(seconds: float) -> Strike:
    """Freezes the file system `disk`: who writes to it waits in the kernel, until it is thawed.

    A frozen file system outlives its mount: what thaws it holds it open.
    """

    def strike(scene: Scene) -> None:
        # In the mount namespace of the script.
        disk = f"/proc/{scene.ready_pid}/root{scene.folder.resolve()}/disk"
        fd = os.open(disk, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.ioctl(fd, _FREEZE, 0)
        threading.Timer(seconds, _thaw, (fd,)).start()

    return strike


def _thaw(fd: int) -> None:
    fcntl.ioctl(fd, _THAW, 0)
    os.close(fd)
