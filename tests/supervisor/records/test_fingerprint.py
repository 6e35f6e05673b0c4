"""What changed since the attempt before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pitstop.events import EnvironmentChanged, JsonValue
from pitstop.supervisor.records.fingerprint import Threads, collect, compare, describe, find_script

THREADS = Threads(2, 2)


def test_script_is_the_first_file_after_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("pass")
    command = ["python", "-u", str(script), "data.csv"]
    found = collect(command, {"TF_DETERMINISTIC_OPS": "1", "HOME": "/root"}, THREADS)
    assert found["script"] == str(script)
    assert found["env"] == {"TF_DETERMINISTIC_OPS": "1"}
    assert find_script(["python", "-c", "pass"]) is None


def test_a_word_that_is_no_path_is_no_script(tmp_path: Path) -> None:
    program = "import sys; " * 400
    assert find_script(["python", "-c", program]) is None
    script = tmp_path / "train.py"
    script.write_text("pass")
    assert find_script(["python", "-c", program, str(script)]) == script


def test_a_large_file_is_data_and_no_script(tmp_path: Path) -> None:
    data = tmp_path / "train.tfrecord"
    data.touch()
    os.truncate(data, 65 << 20)  # sparse: takes no disk
    assert find_script(["python", "-m", "trainer", str(data)]) is None


def test_edited_script_is_noticed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("a = 1")
    before = collect(["python", str(script)], {}, THREADS)
    script.write_text("a = 2")
    [change] = compare(before, collect(["python", str(script)], {}, THREADS))
    assert change.what == "the script's text"
    assert "the script has changed" in describe(change)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {"cpus": 2}, []),
        ({"cpus": 2}, {"cpus": 2}, []),
        ({"cpus": 2}, {"cpus": 4}, [("the number of CPUs it may use", "2", "4")]),
        (
            {"cpus": 2, "intra_op_threads": 2},
            {"cpus": 2, "intra_op_threads": 4},
            [("the number of TensorFlow's threads", "2", "4")],
        ),
        ({"tensorflow": "2.20"}, {"keras": "3"}, []),
        ({"env": {"A": "1"}}, {"env": {"A": "1"}}, []),
        ({"env": {"A": "1"}}, {"env": {}}, [("variable A", "1", "")]),
        ({"env": {}}, {}, []),
    ],
)
def test_comparison(
    before: dict[str, object], now: dict[str, object], expected: list[tuple[str, str, str]]
) -> None:
    assert [(c.what, c.before, c.now) for c in compare(before, now)] == expected


@pytest.mark.parametrize(
    ("before", "threads", "changes_bits"),
    [
        ({"cpus": 2, "intra_op_threads": 2}, 2, False),
        ({"cpus": 2, "intra_op_threads": 2}, 1, True),
        ({"cpus": 2}, 2, False),
        ({"cpus": 2}, 1, True),
    ],
)
def test_fewer_cpus_change_no_bits_while_the_threads_stay(
    before: dict[str, object], threads: int, changes_bits: bool
) -> None:
    changes = compare(before, {"cpus": 1, "intra_op_threads": threads})
    assert changes[0].what == "the number of CPUs it may use"
    assert changes[0].changes_bits is changes_bits


def test_consequence_is_named() -> None:
    assert "last bits" in describe(EnvironmentChanged("the CPU", "a", "b", True))
    batch = describe(EnvironmentChanged("the training data's batch_size", "32", "16", True))
    assert batch.endswith("(32 -> 16): results will differ.")
    data = describe(EnvironmentChanged("the training data's digest", "77c4", "65a4", True))
    assert data.startswith("the training data has changed since the last attempt;")
    assert "(unset -> 1)" in describe(EnvironmentChanged("variable OMP", "", "1", True))


def test_other_ports_of_a_cluster_are_no_change() -> None:
    def environment(*workers: str) -> dict[str, JsonValue]:
        return {"env": {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}})}}

    before = environment("a:1", "b:1")
    assert compare(before, environment("a:7", "c:9")) == ()
    [change] = compare(before, environment("a:1"))
    assert change.changes_bits
