"""What there is on this machine, looked at once."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

import pitstop
from pitstop.flight.disks import mount_of
from pitstop.machine import cgroup
from pitstop.machine.cgroup import MemoryCounters
from pitstop.machine.kernel_file import mounts, read_text
from pitstop.machine.memory import read_space
from pitstop.machine.own_process import sees_all_pids
from pitstop.observation import schedulers
from pitstop.observation.observer import read_limits
from pitstop.record import Frozen
from pitstop.store.filesystem import set_direct

_PATIENCE_SECONDS = 120.0
_PROGRAM = """
import json, platform, sys
found = {"python": platform.python_version(), "versions": {}, "problem": ""}
sys.path.append(sys.argv[1])
try:
    import tensorflow, keras
    found["versions"] = {"tensorflow": tensorflow.__version__, "keras": keras.__version__}
    found["gpus"] = len(tensorflow.config.list_physical_devices("GPU"))
    from pitstop.tensorflow import private
    private.check()
    from pitstop.keras import private
    private.check()
except Exception as problem:
    found["problem"] = f"{type(problem).__name__}: {problem}"
print("\\n" + json.dumps(found))
"""


class Frameworks(Frozen):
    """What a Python has; `problem`: what does not fit, in the words of the exception."""

    executable: str
    python: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    gpus: int = 0
    problem: str = ""


def ask(executable: str) -> Frameworks:
    folder = str(Path(pitstop.__file__).parents[1])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [executable, "-c", _PROGRAM, folder]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Frameworks(executable, problem=str(error))
    return answer(executable, done.stdout.decode(errors="replace"), done.returncode)


def answer(executable: str, output: str, exit_code: int) -> Frameworks:
    lines = output.strip().splitlines()
    try:
        return Frameworks(executable, **json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        return Frameworks(executable, problem=f"the imports ended with exit code {exit_code}")


class Scheduler(Frozen):
    """Who started this: its name, and the command that knows more, empty without one."""

    name: str
    record_command: str
    has_command: bool


class Facts(Frozen):
    """What was found; None where it is not there or may not be read."""

    platform: str
    kernel: str
    folder: str
    memory_cgroup: int | None
    counters: MemoryCounters | None
    kernel_log: bool
    all_pids: bool  # the kernel numbers processes as this process does
    stalls: bool
    nvidia_driver: bool
    nvml: bool  # the library can be used
    shared_memory_bytes: int | None  # of /dev/shm
    disk_kind: str
    disk_free_bytes: int
    hard_links: bool
    direct_writes: bool
    scheduler: Scheduler | None
    frameworks: Frameworks
    limits: dict[str, int | None] = field(default_factory=dict)  # soft ones, None for no limit


def gather(
    folder: Path, frameworks: Frameworks, environment: Mapping[str, str], root: Path = Path("/")
) -> Facts:
    """Looks at everything; writes and removes two small files in `folder`, else `OSError`."""
    group = cgroup.find(os.getpid(), root)
    mount = mount_of(str(folder.absolute()), mounts(read_text(root / "proc/self/mountinfo")))
    hard_links, direct_writes = _try_disk(folder)
    space = os.statvfs(folder)
    return Facts(
        platform=sys.platform,
        kernel=os.uname().release,
        folder=str(folder.absolute()),
        memory_cgroup=group.version if group else None,
        counters=cgroup.read(group) if group else None,
        kernel_log=_can_read(root / "dev/kmsg"),
        all_pids=sees_all_pids(root),
        stalls=bool(read_text(root / "proc/pressure/memory")),
        nvidia_driver=(root / "proc/driver/nvidia").exists(),
        nvml=importlib.util.find_spec("pynvml") is not None,
        shared_memory_bytes=(read_space(root / "dev/shm") or {}).get("size_bytes"),
        disk_kind=mount.kind if mount else "",
        disk_free_bytes=space.f_bavail * space.f_frsize,
        hard_links=hard_links,
        direct_writes=direct_writes,
        scheduler=_scheduler(environment),
        frameworks=frameworks,
        limits={name: pair["soft"] for name, pair in (read_limits(os.getpid()) or {}).items()},
    )


def _can_read(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _try_disk(folder: Path) -> tuple[bool, bool]:
    """Whether a file system has hard links, and writes past the cache."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".pitstop-doctor-") as scratch:
        path = Path(scratch) / "file"
        path.touch()
        try:
            os.link(path, path.with_name("link"))
            hard_links = True
        except OSError:
            hard_links = False
        with path.open("wb") as file:
            return hard_links, set_direct(file.fileno(), direct=True)


def _scheduler(environment: Mapping[str, str]) -> Scheduler | None:
    seen = schedulers.find(environment)
    if seen is None:
        return None
    asked = schedulers.questions(seen.scheduler, seen.job)
    commands = [question.words[0] for question in asked]
    has_command = any(shutil.which(command) is not None for command in commands)
    return Scheduler(schedulers.NAMES[seen.scheduler], next(iter(commands), ""), has_command)
