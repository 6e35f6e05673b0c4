"""Which commands are the same one."""

from __future__ import annotations

import pytest

from pitstop.supervisor.processes.invocation import InvocationKind, parse

SAME = (
    "python train.py --lr 1",
    "python3.12 -u train.py --lr 1",
    "/opt/env/bin/python -uB -W ignore -X dev train.py --lr 1",
    "nice -n 10 python -Wignore train.py --lr 1",
    "nohup timeout -k 5 3h ionice -c 3 stdbuf -oL python -- train.py --lr 1".replace(" --", "", 1),
    "env python train.py --lr 1",
    "taskset -c 0,1 /usr/bin/time -v python train.py --lr 1",
)


@pytest.mark.parametrize("command", SAME)
def test_ways_to_say_the_same(command: str) -> None:
    assert parse(command.split()) == parse(SAME[0].split())


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --lr 2",
        "python train.py",
        "python -O train.py --lr 1",
        "python -m train --lr 1",
        "env LR=1 python train.py --lr 1",
        "bash train.py --lr 1 x",
    ],
)
def test_what_is_another_one(command: str) -> None:
    assert parse(command.split()) != parse(SAME[0].split())


def test_a_script_is_one_with_its_interpreter_or_without() -> None:
    assert parse(["bash", "-eu", "./run.sh", "x"]) == parse(["./run.sh", "x"])
    assert parse(["./train.py"]) == parse(["python", "./train.py"])


def test_the_order_of_variables_says_nothing() -> None:
    ways = ("env B=2 A=1 python t.py", "env A=1 B=2 python t.py")
    one, other = (parse(way.split()) for way in ways)
    assert one == other


@pytest.mark.parametrize(
    ("command", "kind", "target", "arguments"),
    [
        (["python", "-m", "pkg.train", "-x"], InvocationKind.MODULE, "pkg.train", ("-x",)),
        (["python", "-um", "pkg"], InvocationKind.MODULE, "pkg", ()),
        (["python", "-c", "print()", "-m"], InvocationKind.CODE, "print()", ("-m",)),
        (["/bin/sh", "-c", "sleep 1"], InvocationKind.PROGRAM, "sh", ("-c", "sleep 1")),
        (["torchrun", "train.py"], InvocationKind.PROGRAM, "torchrun", ("train.py",)),
        (["python", "-m", "ipykernel_launcher", "-f", "k.json"], InvocationKind.MODULE, None, ()),
        (["nice"], InvocationKind.PROGRAM, "nice", ()),
        (["python"], InvocationKind.SCRIPT, "", ()),
    ],
)
def test_parts(
    command: list[str], kind: InvocationKind, target: str | None, arguments: object
) -> None:
    found = parse(command)
    assert (found.kind, found.arguments) == (kind, arguments)
    assert target is None or found.target == target
