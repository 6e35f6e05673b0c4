"""Logs of programs that really fail: runs those of `benchmarks/failing/`, keeps what they print.

`python benchmarks/log_corpus.py --family keras3` writes NAME.log for
each program and its row of `labels.tsv` into `tests/diagnosis/corpus/`.  As root on Linux:
programs meet full loop-mounted disks, cgroup limits, and networks that are not there.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "benchmarks" / "failing"
CORPUS = ROOT / "tests" / "diagnosis" / "corpus"
LABELS = CORPUS / "labels.tsv"
COLUMNS = ("name", "cause", "cause_with_status", "ended", "program", "circumstances")
MOST_LINES = 160
SECONDS = 150
_NOBODY = 65534
_UNPRIVILEGED = tuple(
    f"--{which}=-dac_override,-dac_read_search" for which in ("inh-caps", "bounding-set")
)
_CGROUPS = Path("/sys/fs/cgroup")
_ULIMITS = {
    "ulimit_v": "-v 9000000",
    "ulimit_n": "-n 96",
    "ulimit_f": "-f 10000",
    "ulimit_t": "-S -t 2",
}
_KERNEL_LINES = re.compile(r"oom|Out of memory|Memory cgroup|Killed process", re.IGNORECASE)


@dataclass(frozen=True)
class Program:
    """A program that fails, or does not.

    Attributes:
        name: of its log.
        cause: that the log alone must lead to.
        cause_with_status: that the log and the exit status must lead to.
        circumstances: words for what it meets.
        text: the script.
        family: the file that it stands in.
    """

    name: str
    cause: str
    cause_with_status: str
    circumstances: frozenset[str]
    text: str
    family: str


def programs(family: Path) -> Iterator[Program]:
    """The programs of a file, each with the file's preamble."""
    _, *parts = re.split(r"^%% (.*)\n", family.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    preamble = sections.pop("preamble")
    for title, text in sections.items():
        name, causes, *words = title.split()
        alone, _, with_status = causes.partition("|")
        script = text if {"raw", "module"} & set(words) else preamble + text
        yield Program(name, alone, with_status or alone, frozenset(words), script, family.stem)


# -- circumstances ---------------------------------------------------------------


@contextlib.contextmanager
def circumstances(program: Program, folder: Path) -> Iterator[list[str]]:
    """Prepares what the program meets; gives the arguments that it is told about it."""
    with contextlib.ExitStack() as stack:
        words = program.circumstances
        if "small_disk" in words:
            stack.enter_context(_mounted(folder / "small", *_image(folder)))
        if "read_only" in words:
            stack.enter_context(_mounted(folder / "ro", "-t", "tmpfs", "-o", "ro", "tmpfs"))
        if "locked" in words:
            (folder / "locked").mkdir(mode=0o700)
            os.chown(folder / "locked", _NOBODY, _NOBODY)
        if "http_404" in words:
            yield [str(stack.enter_context(_server()))]
        elif "two_workers" in words:
            yield ["0", str(_free_port())]
        else:
            yield []


def _image(folder: Path) -> tuple[str, ...]:
    image = folder / "small.img"
    image.write_bytes(bytes(6_000_000))
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    return ("-o", "loop", str(image))


@contextlib.contextmanager
def _mounted(point: Path, *what: str) -> Iterator[None]:
    point.mkdir()
    subprocess.run(["mount", *what, str(point)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


@contextlib.contextmanager
def _server() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as empty:
        handler = type("Handler", (http.server.SimpleHTTPRequestHandler,), {"directory": empty})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _cgroup(program: Program) -> Iterator[Path | None]:
    """A control group of version 1 that limits memory or processes."""
    limits = {"cgroup": ("memory", "memory.limit_in_bytes", "400000000")}
    limits["pids"] = ("pids", "pids.max", "90")
    word = next((word for word in limits if word in program.circumstances), None)
    if word is None:
        yield None
        return
    controller, file, value = limits[word]
    group = _CGROUPS / controller / f"corpus-{os.getpid()}"
    group.mkdir()
    (group / file).write_text(value)
    yield group
    while pids := (group / "cgroup.procs").read_text().split():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.1)
    group.rmdir()


# -- running ---------------------------------------------------------------------


def command_of(program: Program, python: str, script: str, arguments: list[str]) -> list[str]:
    """The command line that runs it under its circumstances."""
    words = program.circumstances
    command = [python, script, *arguments]
    if "module" in words:
        command = [python, "-m", program.text.strip()]
    if "torchrun" in words:
        run = [python, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        command = [*run, "--master-port", str(_free_port()), script]
    if "timeout" in words:
        command = ["timeout", "-v", "6", *command]
    limits = [_ULIMITS[word] for word in sorted(words) if word in _ULIMITS]
    if {"shell", "cgroup"} & words or limits:
        Path(script).with_name("train.sh").write_text(_shell_script(command, limits, words))
        command = ["bash", "train.sh"]
    if "locked" in words:
        command = ["setpriv", *_UNPRIVILEGED, *command]
    if "no_network" in words:
        command = ["unshare", "-n", *command]
    if "small_shm" in words:
        mount = "mount -t tmpfs -o size=1m tmpfs /dev/shm"
        command = ["unshare", "-m", "sh", "-c", f"{mount} && exec {shlex.join(command)}"]
    return command


def _shell_script(command: list[str], limits: list[str], words: frozenset[str]) -> str:
    lines = [f"ulimit {limit}" for limit in limits]
    run = shlex.join(command)
    is_shell = bool({"shell", "cgroup"} & words)
    return "\n".join([*lines, run if is_shell else f"exec {run}", *(["exit $?"] * is_shell)]) + "\n"


def run(program: Program, python: str) -> tuple[str, int]:
    """What it printed, and its exit code (negative: the signal that ended it)."""
    with tempfile.TemporaryDirectory(prefix="corpus-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o777)
        script = "train.py"
        (folder / script).write_text(program.text, encoding="utf-8")
        with circumstances(program, folder) as arguments, _cgroup(program) as group:
            with contextlib.chdir(folder):
                command = command_of(program, python, script, arguments)
            code = _run(program, command, folder, group)
        printed = (folder / "output.log").read_text(encoding="utf-8", errors="replace")
        if "cgroup" in program.circumstances:
            printed += _kernel_lines()
        return scrub(printed, folder, Path(python)), code


def _run(program: Program, command: list[str], folder: Path, group: Path | None) -> int:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "HOME": str(folder)}
    for name in ("TF_CPP_MIN_LOG_LEVEL", "PYTHONPATH"):
        environment.pop(name, None)
    environment["CUDA_VISIBLE_DEVICES"] = "-1" if program.family.startswith("keras") else ""
    others = list(_peers(program, command, folder, environment))
    if "one_of_two" in program.circumstances:
        environment |= _ranks(0, environment)

    def into_group() -> None:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    with (folder / "output.log").open("wb") as output:
        main = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=into_group,  # noqa: PLW1509 - no thread but the server's is there
        )
        try:
            return main.wait(SECONDS)
        finally:
            for process in (main, *others):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _peers(
    program: Program, command: list[str], folder: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The second task of a cluster; its output is not kept."""
    if not {"two_workers", "one_of_two"} & program.circumstances:
        return
    if "two_workers" in program.circumstances:
        command = [*command[:-2], "1", command[-1]]
    environment.setdefault("MASTER_PORT", str(_free_port()))
    yield subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, **_ranks(1, environment)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ranks(rank: int, environment: dict[str, str]) -> dict[str, str]:
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": environment["MASTER_PORT"]}
    return {**where, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}


def _kernel_lines() -> str:
    text = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    found = [line for line in text.splitlines() if _KERNEL_LINES.search(line)]
    return "\n".join(["$ dmesg | tail", *found[-6:], ""])


def scrub(text: str, folder: Path, python: Path) -> str:
    """The end of a text, without the names of this machine and its folders."""
    environment = python.absolute().parents[1]
    replaced = {
        str(folder): "/home/user/project",
        str(environment): "/opt/venv",
        str(Path(sys.base_prefix)): "/usr/local",
        socket.gethostname(): "node1",
        str(ROOT): "/opt/src",
    }
    for old, new in replaced.items():
        text = text.replace(old, new)
    text = re.sub(r"/tmp/\S+?/(?=site-packages|lib/)", "/opt/venv/", text)
    lines = re.sub(r"/root/\.pyenv/versions/[^/]+", "/usr/local", text).split("\n")
    return "\n".join(line[-2000:] for line in lines[-MOST_LINES:])


def _cut(program: Program, text: str) -> str:
    if "cut" in program.circumstances:
        return "\n".join(text.rstrip("\n").split("\n")[:-1]) + "\n"
    if "cut_early" in program.circumstances:
        return "\n".join(text.split("\n")[:4]) + "\n"
    return text


# -- the table ---------------------------------------------------------------------


def write_labels(rows: dict[str, tuple[str, ...]]) -> None:
    """Replaces rows of the table, in the order of names."""
    known = dict(rows)
    if LABELS.exists():
        old = (tuple(line.split("\t")) for line in LABELS.read_text().splitlines()[1:])
        known = {row[0]: row for row in old} | rows
    table = ["\t".join(COLUMNS), *("\t".join(known[name]) for name in sorted(known))]
    LABELS.write_text("\n".join(table) + "\n")


def main() -> None:
    """Runs the programs of one family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", required=True, help="a file of benchmarks/failing")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to run them with")
    parser.add_argument("--only", nargs="*", default=[""], help="names that begin like this")
    options = parser.parse_args()
    CORPUS.mkdir(exist_ok=True)
    python = str(Path(options.python).absolute())
    for program in programs(PROGRAMS / f"{options.family}.txt"):
        if not program.name.startswith(tuple(options.only)) or shutil.which(python) is None:
            continue
        try:
            text, code = run(program, python)
        except subprocess.TimeoutExpired:
            print(program.name, "did not end", flush=True)
            continue
        (CORPUS / f"{program.name}.log").write_text(_cut(program, text), encoding="utf-8")
        ended = str(code) if code >= 0 else signal.Signals(-code).name
        words = " ".join(sorted(program.circumstances)) or "-"
        row = (program.name, program.cause, program.cause_with_status, ended, program.family, words)
        write_labels({program.name: row})
        print(*row, flush=True)


if __name__ == "__main__":
    main()
