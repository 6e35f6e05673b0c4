"""A trainer without TensorFlow: speaks the protocol with the real arena and beacon.

    protocol_trainer.py [--steps N] [--step-seconds S] [--fit-ends-at N...] [--die-at N]
                        [--asks-at N] [--phase NAME] [--deaf] [--every-step-durable]
                        [--stalls-at N] [--pulses-at N] [--hoards BYTES]

Its state is the number of steps it has done, a tensor of that number, one that never changes, and
a digest of the digest before each step, which only a state that was restored can go on from.
What it hoards at every step it keeps, until there is a file `enough` where it runs.
SAMPLE_STEPS in the environment is the same as --steps; SAMPLE_OPTIONS holds more options.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from pitstop.engine.connection import supervisor_connection
from pitstop.engine.snapshots.saved_state import open_saved_state
from pitstop.errors import PeerClosed
from pitstop.events import (
    Event,
    FitEnded,
    FitStarted,
    LevelKnown,
    Restored,
    ScriptEnded,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
    to_record,
)
from pitstop.link.beacon import Beacon, Phase, Stop
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Hello,
    Message,
    RestoreRequest,
    SnapshotReport,
)
from pitstop.link.wire import PROTOCOL, Connection
from pitstop.snapshot.arena import Arena, plan_arena, write_slot
from pitstop.store.image import TensorSpec, plan_image
from tests.messages import body_of

_CHANGING_BYTES = 1 << 16
_FROZEN_BYTES = 3 << 20
_CHAIN_BYTES = 32
_STATE_BYTES = _FROZEN_BYTES + 2 * _CHANGING_BYTES


class Trainer:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.connection = Connection.connect(os.environ["PITSTOP_SOCKET"])
        self.connection.send(hello())
        answer = self.connection.receive()
        if answer.message.type != "welcome":
            sys.exit(f"refused: {body_of(answer)['reason']}")
        self.beacon = Beacon(answer.fds[0])
        self.welcome = body_of(answer)
        supervisor_connection.watch(self.connection, self.beacon)
        self.event(connected())
        self.arena = Arena(plan_arena(_STATE_BYTES, 1 << 30, 0), Path(body_of(answer)["run_dir"]))
        self.connection.send(ArenaOffer(self.arena.plan.size_bytes), [self.arena.fd])
        self.hoard: list[bytes] = []
        self.sequence = 0
        self.chain = bytes(_CHAIN_BYTES)
        self.requests = self.beacon.checkpoint_requests()

    def restore(self) -> int:
        steps = [self.restore_point(str(each["checkpoint"])) for each in self.welcome["points"]]
        if not steps:
            return 0
        lost = max(0, self.welcome["lost_from_step"] - steps[-1])
        self.event(Restored(steps[-1], 0, steps[-1], "exact", "", 0.0, lost))
        say(f"restored {steps}")
        return steps[-1]

    def restore_point(self, name: str) -> int:
        self.connection.send(RestoreRequest(checkpoint=name))
        saved = open_saved_state(self.connection.receive().fds)
        step = int(np.frombuffer(saved.tensors["step"], np.int64)[0])
        if any(
            bytes(saved.tensors[name]) != bytes(data) for name, data in tensors_of(step).items()
        ):
            sys.exit(f"what was restored is not the state of step {step}")
        self.chain = bytes(saved.tensors["chain"])
        return step

    def event(self, event: Event) -> None:
        self.send(EventReport(event=to_record(event)))

    def snapshot(self, step: int, reason: str, *, durable: bool) -> None:
        tensors = {**tensors_of(step), "chain": memoryview(self.chain)}
        image = plan_image([SPECS[name] for name in tensors])
        position: dict[str, object] = {"step": step, "epoch": 0, "step_in_epoch": step}
        position |= {"fit": self.fit(step), "milestone": reason if reason == "fit_end" else ""}
        state = {"position": position, "level": {"level": "exact"}, "versions": {}}
        self.sequence += 1
        while (index := self.arena.choose_slot(self.beacon.pinned())) is None:
            time.sleep(0.001)
        data = [tensors[place.spec.name] for place in image.placements]
        with self.arena.slot(index, self.sequence) as slot:
            write_slot(slot, self.sequence, step, image, data, json.dumps(state).encode())
        self.beacon.write_snapshot_step(step)
        self.send(SnapshotReport(self.sequence, step, 0, reason, durable))

    def send(self, message: Message) -> None:
        # Without a supervisor the training goes on until it is told to stop.
        with contextlib.suppress(PeerClosed):
            self.connection.send(message)

    def fit(self, step: int) -> int:
        ends = self.options.fit_ends_at
        return sum(end < step for end in ends)

    def train(self) -> None:
        options = self.options
        first = self.restore()
        self.event(FitStarted(0, 1, options.steps))
        self.event(LevelKnown("exact"))
        self.beacon.write_plan(0, 1, options.steps)
        self.beacon.write_phase(Phase[options.phase])
        for step in range(first + 1, options.steps + 1):
            time.sleep(options.step_seconds)
            if options.hoards and not Path("enough").exists():
                self.hoard.append(b"x" * options.hoards)
            self.boundary(step, first)
        self.event(FitEnded(0, options.steps, 1, 1))
        self.event(ScriptEnded(options.steps))

    def boundary(self, step: int, first: int) -> None:
        options = self.options
        self.chain = hashlib.sha256(self.chain + step.to_bytes(8)).digest()
        say(f"step {step}")
        self.beacon.write_position(step, 0, step, time.monotonic_ns(), 1.0 / step)
        self.beacon.write_step_seconds(options.step_seconds)
        if step == options.stalls_at:
            stand_still()
        requested = self.beacon.checkpoint_requests() > self.requests
        self.requests = self.beacon.checkpoint_requests()
        if step in options.fit_ends_at:
            self.snapshot(step, "fit_end", durable=True)
            return
        durable = requested or options.every_step_durable
        self.snapshot(step, "requested" if requested else "cadence", durable=durable)
        if step == options.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if step == options.pulses_at:
            self.validate()
        if step == options.asks_at:
            self.event(StopRequested("script", "graceful", reason="enough"))
            self.beacon.request_stop(Stop.GRACEFUL)
        if self.beacon.stop() and not options.deaf:
            self.snapshot(step, "stop", durable=True)
            self.event(TrainerStopped(step, 0, step, "train"))
            sys.exit(75)

    def validate(self) -> None:
        """Five seconds of batches outside of the training, and the end."""
        self.beacon.write_phase(Phase.VALIDATION)
        for _ in range(50):
            time.sleep(0.1)
            self.beacon.pulse()
        self.event(ScriptEnded(self.options.pulses_at))
        sys.exit(0)


def stand_still() -> None:
    threading.Event().wait()


SPECS = {
    "step": TensorSpec("step", "I64", (1,)),
    "frozen": TensorSpec("frozen", "U8", (_FROZEN_BYTES,)),
    "changing": TensorSpec("changing", "U8", (_CHANGING_BYTES,)),
    "chain": TensorSpec("chain", "U8", (_CHAIN_BYTES,)),
}
FROZEN = memoryview(bytes(range(256)) * (_FROZEN_BYTES // 256))


def tensors_of(step: int) -> dict[str, memoryview]:
    """The state behind a step."""
    return {
        "step": memoryview(np.array([step], np.int64).tobytes()),
        "frozen": FROZEN,
        "changing": memoryview(bytes([step % 251]) * _CHANGING_BYTES),
    }


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def hello() -> Hello:
    return Hello(PROTOCOL, os.getpid(), platform.python_version(), sys.argv)


def connected() -> TrainerConnected:
    versions = {"tensorflow": os.environ.get("SAMPLE_VERSION", "1.0")}
    return TrainerConnected(os.getpid(), platform.python_version(), sys.argv, versions)


def main() -> None:
    parser = argparse.ArgumentParser()
    steps = int(os.environ.get("SAMPLE_STEPS", "1000000"))
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--step-seconds", type=float, default=0.01)
    parser.add_argument("--fit-ends-at", type=int, nargs="*", default=[])
    parser.add_argument("--die-at", type=int, default=0)
    parser.add_argument("--asks-at", type=int, default=0)
    parser.add_argument("--stalls-at", type=int, default=0)
    parser.add_argument("--pulses-at", type=int, default=0)
    parser.add_argument("--phase", default="TRAIN")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--hoards", type=int, default=0)
    parser.add_argument("--every-step-durable", action="store_true")
    given = shlex.split(os.environ.get("SAMPLE_OPTIONS", ""))
    Trainer(parser.parse_args([*sys.argv[1:], *given])).train()


if __name__ == "__main__":
    main()
