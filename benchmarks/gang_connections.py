"""How many members one supervisor leads over real connections.

`pitstop run` leads a training without TensorFlow.  Its members are coroutines of `--processes`
processes, which speak the protocol over TCP and answer at once.  Prints how long they took to join
and to agree on a stop, and what the leader costs meanwhile.  All share the processors of this
machine.  A supervisor listens to everybody:

    unshare -n sh -c 'ip link set lo up && python -m benchmarks.gang_connections [--members N]'
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

import pitstop
from pitstop import __version__, journal
from pitstop.cluster import messages, stop_agreement
from pitstop.cluster.conversation import Conversation, WrongSecret, call
from pitstop.cluster.resume_agreement import mark_of
from pitstop.engine.connection import request
from pitstop.events import Event, GangFormed, GangStopped, MemberJoined
from pitstop.link.settings import ENV_SOCKET

HOST, PORT, FIRST_PORT = "127.0.0.1", 19_999, 20_000
SECRET = "0123456789abcdef0123"
FILES = 20_000
LEADS = "--lead"
STEP_SECONDS = 0.02
TRAINED_SECONDS = 20.0
PATIENCE_SECONDS = 150.0
STOP_PATIENCE_SECONDS = 30.0


def lead(folder: str) -> None:
    """The script of the leader: steps without TensorFlow, in a strategy of all workers."""
    for role in ("assembling", "replica"):
        request.take(os.environ[ENV_SOCKET], role, {}, "")
    weights = np.zeros(1000)
    for _ in pitstop.start(folder, weights=weights).steps(10**9):
        weights += 1.0
        time.sleep(STEP_SECONDS)


class Member:
    """What a supervisor of a worker says whose trainer is always where the leader's is."""

    def __init__(self, index: int, members: int) -> None:
        self._index, self._members = index, members
        self._gang = ""
        self._ended = False

    async def run(self) -> None:
        conversation = await self._joined()
        beats = asyncio.create_task(self._beat(conversation))
        with contextlib.suppress(OSError, EOFError):
            while not isinstance(message := await conversation.receive(), messages.Release):
                self._answer(conversation, message)
        beats.cancel()

    async def _joined(self) -> Conversation:
        while True:
            try:
                conversation = await call(HOST, PORT, SECRET.encode())
                break
            except (OSError, EOFError, WrongSecret):
                await asyncio.sleep(random.uniform(0.2, 0.6))
        task, shape = f"worker {self._index}", {"worker": self._members}
        request = (messages.PROTOCOL, task, shape, __version__, "host", os.getpid())
        conversation.send(messages.JoinRequest(*request))
        return conversation

    async def _beat(self, conversation: Conversation) -> None:
        while True:
            phase = "train" if self._gang else "starting"
            conversation.send(messages.Beat("running", phase, 0))
            if not self._gang:
                conversation.send(messages.Muster(1))
            await asyncio.sleep(1.0)

    def _answer(self, conversation: Conversation, message: object) -> None:
        match message:
            case messages.ResumeProposal(proposal=number):
                conversation.send(messages.ResumeAnswer(number, True))
            case messages.GangReady(gang=name):
                self._gang = name
            case messages.SnapshotOrder(step=step):
                conversation.send(messages.SavedReport(mark_of(self._gang, 0, step, "")))
            case messages.Hold(round=number, step=step):
                conversation.send(messages.HoldAnswer(number, stop_agreement.HOLDS, step))
            case messages.Commit(step=step):
                conversation.send(messages.HoldAnswer(0, stop_agreement.CONFIRMS, step))
                if not self._ended:
                    conversation.send(messages.EndReport("stopped", 75))
                self._ended = True


def follow(indices: range, members: int) -> None:
    """The members of one process."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    async def all_of_them() -> None:
        await asyncio.gather(*(Member(index, members).run() for index in indices))

    asyncio.run(all_of_them())


def start_leader(folder: Path, members: int) -> psutil.Popen:
    """`pitstop run` of the first worker."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    workers = [f"{HOST}:{FIRST_PORT + number}" for number in range(members)]
    config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}}
    variables = {
        "TF_CONFIG": json.dumps(config, separators=(",", ":")),
        "PITSTOP_CLUSTER_SECRET": SECRET,
        "PITSTOP_CLUSTER_PORT": str(PORT),
    }
    words = [sys.executable, "-m", "pitstop.cli.main", "run", "--run-dir", str(folder), "--"]
    words += [sys.executable, "-m", "benchmarks.gang_connections", LEADS, str(folder)]
    with (folder.parent / "output.txt").open("w") as output:
        environment = {**os.environ, **variables}
        return psutil.Popen(words, env=environment, stdout=output, stderr=subprocess.STDOUT)


def times_of(folder: Path, kind: type[Event]) -> list[float]:
    """When events of a kind were journaled, seconds since the epoch."""
    path = folder / "journal.jsonl"
    entries = journal.read(path).entries if path.exists() else ()
    return [each.time_seconds for each in entries if isinstance(each.event, kind)]


def wait_for(folder: Path, kind: type[Event], seconds: float) -> bool:
    """Whether an event of a kind is journaled in time."""
    until = time.monotonic() + seconds
    while not times_of(folder, kind):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def measure(folder: Path, members: int, processes: int) -> list[str]:
    """One row of the table."""
    leader = start_leader(folder, members)
    followers = [
        multiprocessing.Process(target=follow, args=(range(1 + each, members, processes), members))
        for each in range(processes)
    ]
    for each in followers:
        each.start()
    try:
        formed = wait_for(folder, GangFormed, PATIENCE_SECONDS)
        joined = times_of(folder, MemberJoined)
        if not formed:
            return [f"{len(joined):,} of {members - 1:,}", "-", "-", "-", "-"]
        before, began = sum(leader.cpu_times()[:2]), time.monotonic()
        time.sleep(TRAINED_SECONDS)
        share = (sum(leader.cpu_times()[:2]) - before) / (time.monotonic() - began)
        memory_bytes = leader.memory_info().rss
        asked = time.time()
        leader.send_signal(signal.SIGTERM)
        is_agreed = wait_for(folder, GangStopped, STOP_PATIENCE_SECONDS)
        agreed = f"{times_of(folder, GangStopped)[0] - asked:.2f}" if is_agreed else "-"
        seconds = f"{joined[-1] - joined[0]:.1f}", f"{share:.0%}", f"{memory_bytes / 1e6:.0f}"
        return [f"{members - 1:,}", *seconds, agreed]
    finally:
        leader.terminate()
        for each in followers:
            each.kill()
            each.join()
        with contextlib.suppress(psutil.TimeoutExpired, psutil.NoSuchProcess):
            leader.wait(STOP_PATIENCE_SECONDS)
        with contextlib.suppress(psutil.NoSuchProcess):
            leader.kill()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--processes", type=int, default=2, help="of the members")
    parser.add_argument(LEADS, metavar="RUN", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lead:
        lead(given.lead)
        return
    print("| joined | in s | leader's processor | MB | stop agreed, s |")
    print("|---|---|---|---|---|")
    for members in given.members:
        with tempfile.TemporaryDirectory() as name:
            row = measure(Path(name) / "run", members, given.processes)
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
