"""What the code of a training leads to, by value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.trainings.reached_code import digest_of_reached
from tests.engine.script_state.scripted import process

_SOURCE = """
import argparse
import dataclasses
import functools
import os

SCALE = 1.0
RATES = {"first": 1.0}
RESULTS = []
LAZY = SET = 1.0

@dataclasses.dataclass
class Settings:
    power: float

def scaled(by, value):
    return by * value

def lifted(value):
    return value + 1

STEPS = {"first": lifted, "most": 3, "nested": [lifted, 0.5]}

class Closed:
    def __getattr__(self, name):
        raise KeyError(name)

    def __call__(self):
        pass

class Rule:
    every = 5
    steps = [lifted, 1.0]

    def __init__(self):
        self.closed = Closed()
        self.scale = functools.partial(scaled, 2.0)
        self.nested = [self]
        self.nested.append(self.nested)
        self.settings = [Settings(1.0)]
        self.options = argparse.Namespace(power=1.0)

    @functools.cached_property
    def lazily(self):
        return LAZY

    @property
    def power(self):
        return 1.0

    @power.setter
    def power(self, value):
        self.settings[0].power = SET * value

def read():
    given = os.environ.get("SCALE"), os.getenv("POWER"), os.getenv("SLURM_RESTART_COUNT")
    return STEPS, RATES["first"], given, [SCALE * each for each in range(3)]

def outer(power=1.0):
    def inner():
        return power, read()
    return inner

def numbers():
    while True:
        yield RATES["first"]

def unused():
    return RESULTS
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Any]:
    return process(_SOURCE, monkeypatch, tmp_path)


def _reached(script: Any, rule: Any) -> tuple[str, dict[str, str]]:
    return digest_of_reached([script.outer(), rule, script.numbers()])


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ("", False),
        ("script.RESULTS.append(1)", False),
        ("script.RATES.update(first=2.0)", True),
        ("script.Rule.every = 2", True),
        ("rule.settings[0].power = 2.0", True),
        ("rule.options.power = 2.0", True),
        ("script.SCALE = 2.0", True),
        ("script.LAZY = 2.0", True),
        ("script.SET = 2.0", True),
        ("rule.scale = script.functools.partial(script.scaled, 3.0)", True),
        ("rule.scale = script.functools.partial(script.lifted, 2.0)", True),
        ("script.lifted.__code__ = script.unused.__code__", True),
        ("script.STEPS['most'] = 4", True),
        ("script.STEPS['nested'][1] = 1.0", True),
        ("script.STEPS['first'] = script.unused", True),
        ("script.Rule.steps[1] = 2.0", True),
        ("script.Rule.steps[0] = script.unused", True),
        ("script.os.environ['SCALE'] = '2'", True),
        ("script.os.environ['POWER'] = '2'", True),
        ("script.os.environ['UNREAD'] = '2'", False),
        ("script.os.environ['SLURM_RESTART_COUNT'] = '2'", False),
    ],
)
def test_what_the_code_reads_is_in_it(
    run: Any, change: str, differs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SCALE", "POWER", "UNREAD"):
        monkeypatch.setenv(name, "1")
    script = run()
    before = _reached(script, script.Rule())
    script = run()
    rule = script.Rule()
    exec(change, {"script": script, "rule": rule})
    assert (_reached(script, rule)[0] != before[0]) == differs


class OfLibrary:
    """An object that no class of the script has made."""

    def __init__(self, *called: Any) -> None:
        self.first, self.second = called


def test_functions_that_a_librarys_object_holds(run: Any) -> None:
    script = run()

    def reached() -> str:
        return digest_of_reached([OfLibrary(script.read, script.Rule().closed.__call__)])[0]

    before = reached()
    assert before == reached()
    script.SCALE = 2.0
    assert reached() != before


def test_variables_that_the_code_reads_are_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALE", "0.5")
    script = run()
    before = _reached(script, script.Rule())[1]
    assert set(before) == {"SCALE"}
    for value, is_told in (("0.25", True), ("/scratch/1234567", False)):
        monkeypatch.setenv("SCALE", value)
        now = _reached(script, script.Rule())[1]
        assert ("SCALE" in now) == is_told
        assert now != before


def test_a_look_at_a_mapping_of_the_script_calls_none_of_its_methods(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = """
import collections
class Table(collections.UserDict):
    reads = 0
    def __getitem__(self, key):
        Table.reads += 1
        return super().__getitem__(key)
class Rule:
    def __init__(self):
        self.table = Table(limit=3)
"""
    script: Any = process(source, monkeypatch, tmp_path)()
    digest_of_reached([script.Rule()])
    assert script.Table.reads == 0
