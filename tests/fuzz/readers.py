"""What reads bytes that others may have written, and the errors that each of them declares."""

from __future__ import annotations

import json
import mmap
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from xxhash import xxh3_64_hexdigest

from pitstop import journal
from pitstop.engine.randomness import script_random
from pitstop.engine.trainings.identity import Identity
from pitstop.engine.values import python_state
from pitstop.errors import FormatTooNew, PeerClosed
from pitstop.link.beacon import SIZE_BYTES, Beacon
from pitstop.link.wire import pair
from pitstop.record import build
from pitstop.store import manifest

_ARRAYS = {"python/0": memoryview(bytes(64))}
_HEADER_BYTES = 8
_MOST_MESSAGE_BYTES = 60_000


@dataclass(frozen=True)
class Reader:
    """One kind of input: how it is read, what that may raise, and examples of good ones."""

    read: Callable[[bytes], object]
    declared: tuple[type[Exception], ...]
    examples: tuple[bytes, ...]


def _read_manifest(text: bytes) -> None:
    body = text[:-1]
    data = body + f',\n  "xxh3_64": "{xxh3_64_hexdigest(body)}"\n}}\n'.encode()
    found = manifest.decode(data)
    parts = [part.file for each in found.tensors.values() for part in each.parts]
    for name in (*found.files, *parts):
        # Whoever reads or writes by such a name stays in the checkpoint's folder.
        assert "/" not in name, name
        assert "\0" not in name, name
        assert name not in ("", ".", ".."), name


def _read_line(text: bytes) -> None:
    with suppress(UnicodeDecodeError):
        journal.decode(journal.seal(text.decode()))
    journal.decode(text)


def _read_state(text: bytes) -> None:
    with suppress(RecursionError):
        state = json.loads(text)
        python_state.decode(state, _ARRAYS)
        if isinstance(state, dict) and isinstance(state.get("identity"), dict):
            build(Identity, "identity", state["identity"])


def _read_generator(text: bytes) -> None:
    with suppress(RecursionError):
        match python_state.decode(json.loads(text), _ARRAYS):
            case {"form": str(form), "state": state}:
                script_random.make(form, state).random()


def _saved(generator: Any) -> bytes:
    state = script_random.state_of(generator)
    form, encoder = script_random.form_of(generator), python_state.Encoder(f"{len(_ARRAYS)}/")
    text = json.dumps({"form": form, "state": encoder.encode(state)}).encode()
    _ARRAYS.update({name: memoryview(each.tobytes()) for name, each in encoder.arrays.items()})
    return text


def _read_beacon(data: bytes) -> None:
    beacon = Beacon.create()
    try:
        with mmap.mmap(beacon.fd, SIZE_BYTES) as page:
            end = min(SIZE_BYTES, len(data))
            page[_HEADER_BYTES:end] = data[_HEADER_BYTES:end]
        beacon.progress()
        beacon.take_checkpoint_name()
        beacon.stop()
    finally:
        beacon.close()


def _read_messages(data: bytes) -> None:
    client, server = pair()
    try:
        client.socket.sendall(data[:_MOST_MESSAGE_BYTES])
        client.socket.close()
        server.receive_ready()
    finally:
        server.close()


def _message(body: object) -> bytes:
    text = json.dumps(body).encode()
    return len(text).to_bytes(4, "little") + b"\0" + text


def _page() -> bytes:
    beacon = Beacon.create()
    beacon.request_checkpoint("before-lr-change")
    beacon.write_position(7, 1, 3, 10**9, 0.5)
    with mmap.mmap(beacon.fd, SIZE_BYTES) as page:
        data = bytes(page)
    beacon.close()
    return data


_MANIFEST = {
    "format": "pitstop-checkpoint",
    "version": 2,
    "sequence": 3,
    "info": {
        "step": 7,
        "epoch": 1,
        "step_in_epoch": 3,
        "fit": 0,
        "attempt": 1,
        "milestone": "",
        "reason": "stop",
        "level": "exact",
        "created_seconds": 1.5,
        "versions": {"keras": "3.15.1"},
        "identity": {},
    },
    "files": {"state.json": {"size_bytes": 2, "xxh3_64": "0" * 16}},
    "tensors": {
        "a": {
            "dtype": "F32",
            "shape": [2],
            "size_bytes": 8,
            "xxh3_64": "0" * 16,
            "parts": [["tensors.safetensors", 0, 8]],
        }
    },
}
_EVENTS = (
    {"kind": "stop_requested", "source": "signal", "urgency": "graceful"},
    {"kind": "epoch_ended", "fit": 0, "epoch": 1, "steps": 20, "logs": {"loss": 0.5}},
)
_STATE = {
    "position": {"step": 7, "fit": 0, "epoch": 1, "step_in_epoch": 3},
    "identity": vars(Identity(frames=("train.py",), random={"weights": "00"})),
    "values": [
        {"$float": "nan"},
        {"$tuple": [1, {"$bytes": "AAAA"}]},
        {"$array": ["python/0", "<f8", [2, 4]]},
        {"$scalar": ["<f4", "AAAAAA=="]},
        {"$floats": "python/0"},
        {"$dict": [["a", 1], [2, {"$set": [1]}]]},
        {"$deque": [1, 2, 3]},
    ],
}
_MESSAGES = (
    {"type": "hello", "protocol": 1, "pid": 7, "python": "3.11", "argv": ["train.py"]},
    {"type": "request", "command": "checkpoint", "name": "best"},
    {"type": "request", "command": "stop", "urgency": "now", "reason": "enough"},
    {"type": "event", "event": _EVENTS[1]},
    {"type": "vitals", "metrics": {"loss": 0.5}, "learning_rate": 0.1},
    {"type": "restore", "checkpoint": "00000007"},
)

READERS = {
    "manifest": Reader(
        _read_manifest, (ValueError, FormatTooNew), (json.dumps(_MANIFEST).encode(),)
    ),
    "state": Reader(_read_state, (ValueError,), (json.dumps(_STATE).encode(),)),
    "generator": Reader(
        _read_generator,
        (ValueError,),
        (
            _saved(random.Random(1)),
            _saved(np.random.RandomState(1)),
            *(
                _saved(np.random.Generator(bits(1)))
                for bits in (np.random.MT19937, np.random.PCG64, np.random.Philox)
            ),
        ),
    ),
    "journal": Reader(
        _read_line,
        (),
        tuple(
            json.dumps({"time": 1.5, "attempt": 1, "event": event}).encode() for event in _EVENTS
        ),
    ),
    "beacon": Reader(_read_beacon, (), (_page(),)),
    "socket": Reader(
        _read_messages, (PeerClosed,), tuple(_message(message) for message in _MESSAGES)
    ),
}
"""By name."""
