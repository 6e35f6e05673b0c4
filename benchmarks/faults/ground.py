"""What a scenario stands on: cgroups, limits, namespaces, small disks, stubs, faulty reads.

Everything is made of words before a command and of variables, so that it ends with the command;
a cgroup is removed when the scenario is over.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pitstop.machine import cgroup

HERE = Path(__file__).parent
_MIB = 1 << 20
_NOTHING: Mapping[str, str] = MappingProxyType({})
_REMOVAL_SECONDS = 10.0
_MEMORY_LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}
_PIDS_ROOT = Path("/sys/fs/cgroup/pids")


class CannotInject(Exception):
    """This machine, or user, cannot make the fault; says why."""


@dataclass(frozen=True)
class Ground:
    """Words and variables for one command.

    Attributes:
        outer: before `pitstop run`.
        inner: before the script's own command.
        environment: variables of both.
        cgroup: the memory cgroup that was made for it.
    """

    outer: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    cgroup: Path | None = None

    def __add__(self, other: Ground) -> Ground:
        """Both, this one around the other."""
        return Ground(
            self.outer + other.outer,
            self.inner + other.inner,
            {**self.environment, **other.environment},
            other.cgroup or self.cgroup,
        )


Preparation = Callable[[Path], AbstractContextManager[Ground]]
"""Makes a ground for a scenario that works in a folder."""


def _shell(line: str) -> tuple[str, ...]:
    """Words that run a line of shell, and then the command behind them."""
    return ("sh", "-c", f'{line} && exec "$@"', "sh")


def words(*, outer: str = "", inner: str = "", **environment: str) -> Preparation:
    """Lines of shell before the command, and variables; `{folder}` is the scenario's folder."""
    lines = (outer, inner)

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        before, within = (_shell(line.format(folder=folder)) if line else () for line in lines)
        values = {name: text.format(folder=folder) for name, text in environment.items()}
        yield Ground(before, within, values)

    return prepare


def around(*outer: str, inner: tuple[str, ...] = ()) -> Preparation:
    """Other commands around `pitstop run`, and around the script's own."""
    return lambda _: nullcontext(Ground(outer, inner))


def slurm_job(ends_in_seconds: float | None = None) -> Preparation:
    """The environment of a batch job, with its end where its Slurm tells that."""

    def prepare(_: Path) -> AbstractContextManager[Ground]:
        job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_PARTITION": "batch"}
        if ends_in_seconds is not None:
            job["SLURM_JOB_END_TIME"] = str(int(time.time() + ends_in_seconds))
        return nullcontext(Ground(environment=job))

    return prepare


def namespace(line: str) -> Preparation:
    """A mount namespace of its own, in which a line of shell has been run."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        unshare = ("unshare", "--mount", "--propagation", "private")
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
            raise CannotInject("no mount namespace can be made here")
        yield Ground(outer=(*unshare, *_shell(line.format(folder=folder))))

    return prepare


def disk(mebibytes: int, options: str = "") -> Preparation:
    """A small ext4 file system on `disk` in the folder, in a mount namespace of its own."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        image = folder / "disk.img"
        with image.open("wb") as file:
            file.truncate(mebibytes * _MIB)
        made = subprocess.run(["mkfs.ext4", "-q", str(image)], capture_output=True, check=False)
        if made.returncode:
            raise CannotInject(f"no file system can be made here: {made.stderr.decode()}")
        (folder / "disk").mkdir()
        mount = f"mount -o loop{options} {folder}/disk.img {folder}/disk"
        with namespace(mount)(folder) as ground:
            yield ground

    return prepare


def memory_limit(mebibytes: int) -> Preparation:
    """A memory cgroup below the one of this process."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        parent = cgroup.find(os.getpid())
        if parent is None:
            raise CannotInject("no memory cgroup is visible here")
        limit = {_MEMORY_LIMIT[parent.version]: str(mebibytes * _MIB)}
        with _cgroup(parent.folder / f"faults-{folder.name}", limit) as group:
            yield Ground(outer=_shell(f"echo $$ > {group}/cgroup.procs"), cgroup=group)

    return prepare


def process_limit(count: int) -> Preparation:
    """A pids cgroup of its own (v1)."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        with _cgroup(_PIDS_ROOT / f"faults-{folder.name}", {"pids.max": str(count)}) as group:
            yield Ground(outer=_shell(f"echo $$ > {group}/cgroup.procs"))

    return prepare


@contextmanager
def _cgroup(group: Path, limits: Mapping[str, str]) -> Iterator[Path]:
    try:
        group.mkdir()
        for name, value in limits.items():
            (group / name).write_text(value)
    except OSError as error:
        raise CannotInject(f"no cgroup can be made here: {error}") from error
    try:
        yield group
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    # A process that was killed stays in it until it is collected.
    give_up_at = time.monotonic() + _REMOVAL_SECONDS
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)


def faulty_files(name: str, error: int, calls: str) -> Preparation:
    """Reads or writes of files whose path holds `name` fail, by a library that is preloaded.

    Args:
        name: part of the path.
        error: errno of the failure.
        calls: "read" or "write".
    """

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        compiler = shutil.which(sysconfig.get_config_var("CC") or "cc") or shutil.which("cc")
        if compiler is None:
            raise CannotInject("no C compiler is here")
        library = folder / "faulty_files.so"
        source = str(HERE / "faulty_files.c")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", str(library), source, "-ldl"], check=True
        )
        variables = {"FAULTY_NAME": name, "FAULTY_ERRNO": str(error), "FAULTY_CALLS": calls}
        settings = [f"{key}={value}" for key, value in variables.items()]
        yield Ground(inner=("env", f"LD_PRELOAD={library}", *settings))

    return prepare


def stubs(**answers: str) -> Preparation:
    """Commands of a scheduler that is not here, which print a text."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Ground]:
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, text in answers.items():
            command = bin_folder / name
            command.write_text(f"#!/bin/sh\ncat <<'ANSWER'\n{text}\nANSWER\n")
            command.chmod(0o755)
        yield Ground(environment={"PATH": f"{bin_folder}:{os.environ['PATH']}"})

    return prepare
