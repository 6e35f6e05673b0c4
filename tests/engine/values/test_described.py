"""Values as texts that are the same in another process."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from pitstop.engine.values.described import describe, is_plain, is_reproducible, plain_attributes

_TEXT = """
from pitstop.engine.values.described import describe
class Thing:
    def __init__(self): self.a = {"x": [1, 2.5], "y": {"b", "a"}}
def loss(a, b=2): return a in {"p", "q", "r"} and b
print(describe([Thing(), loss, lambda v: v + 1, {"b", "a", "c"}]))
"""


def test_the_text_is_the_same_in_another_process() -> None:
    def text(seed: str) -> bytes:
        command = [sys.executable, "-c", _TEXT]
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(command, env=environment, check=True, capture_output=True).stdout

    assert text("1") == text("2") != b""


_CUT = """
import os, sys
import numpy as np
from pitstop.engine.values.described import describe
np.save(sys.argv[1], np.ones((100, 1000)))
mapped = np.load(sys.argv[1], mmap_mode="r")
whole = describe([mapped, mapped[3:].T])
os.truncate(sys.argv[1], 5000)
assert describe([mapped, mapped[3:].T]) != whole
"""


def test_an_array_whose_file_was_cut_is_not_read(tmp_path: Path) -> None:
    # SIGBUS would end the process.
    command = [sys.executable, "-c", _CUT, str(tmp_path / "a.npy")]
    subprocess.run(command, env={"PYTHONPATH": ":".join(sys.path)}, check=True)


def weighted(weight: float) -> Callable[[float], float]:
    return lambda value: value * weight


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.1, 0.2),
        ("mse", "mae"),
        (np.zeros(3), np.ones(3)),
        (np.zeros(3), np.zeros(3, np.float32)),
        (weighted(0.1), weighted(0.2)),
        (functools.partial(weighted, 1), functools.partial(weighted, 2)),
        ([1, [2, {"a": 3}]], [1, [2, {"a": 4}]]),
        (list(range(500)), [*range(499), 0]),
        ([0] * 2000, [0] * 2001),
        ([(0.5, "a")] * 2000, [*[(0.5, "a")] * 1999, (0.5, "b")]),
    ],
)
def test_other_values_have_other_texts(one: object, other: object) -> None:
    assert describe(one) == describe(one)
    assert describe(one) != describe(other)


def test_of_long_collections_few_items_are_read() -> None:
    """A script may hold thousands, and train each second."""

    class Item(int):
        def __repr__(self) -> str:
            read.append(self)
            return int.__repr__(self)

    read: list[Item] = []
    many = {"memory": [(Item(each), 0.5) for each in range(5000)]}
    assert is_plain(many)
    assert describe(many, most_items=16) == describe(many, most_items=16)
    assert read[:16] == read[16:]
    assert [read[0], read[15]] == [0, 4999]


def test_of_a_large_array_some_rows_are_read() -> None:
    one = np.zeros((5000, 100))
    other = one.copy()
    other[1] = 1
    assert describe(one) != describe(other)
    assert describe(one, whole_bytes=1000) == describe(one.copy(), whole_bytes=1000)


def test_hosts_and_ports_of_the_cluster_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are others in each attempt of a launch."""

    def text(*ports: int, of: str = "worker", lr: float = 0.1) -> str:
        hosts = [f"127.0.0.1:{port}" for port in ports]
        config = {"cluster": {of: hosts}, "lr": lr}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return describe([config, json.dumps(config), ",".join(hosts)])

    one = text(8001, 80011)
    assert text(9001, 9002) == one
    assert text(9001) != one
    assert text(9001, 9002, of="ps") != one
    assert text(9001, 9002, lr=0.2) != one


def test_a_value_that_holds_itself_has_a_text() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert describe(ring)


def test_what_says_only_when_and_where_is_left_out() -> None:
    class Timer:
        def __init__(self) -> None:
            self.began = time.time()
            self.ticks = time.perf_counter()
            self.folder = "/tmp/run-1"
            self.patience = 3

    assert plain_attributes(Timer()) == {"patience": 3}
    assert is_reproducible("val_loss")
    assert not is_reproducible("best.keras")


class _Closed(Mapping[str, int]):
    """As an HDF5 file behind its `with`: a mapping that cannot be read."""

    def __getitem__(self, name: str) -> int:
        raise ValueError("not a file")

    def __iter__(self) -> Iterator[str]:
        raise ValueError("not a file")

    def __len__(self) -> int:
        raise ValueError("not a file")


def test_a_mapping_of_a_library_is_not_read() -> None:
    assert not is_plain(_Closed())
    assert describe([_Closed()]) == "[_Closed]"
    assert is_plain(types.MappingProxyType({"a": 1}))
