"""What the code of a training leads to, by value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.reached_code import digest_of_reached
from tests.engine.script_state.scripted import process

_SOURCE = """
import argparse
import dataclasses
import os

SCALE = 1.0
RATES = {"first": 1.0}
RESULTS = []

@dataclasses.dataclass
class Settings:
    power: float

class Closed:
    def __getattr__(self, name):
        raise KeyError(name)

    def __call__(self):
        pass

class Rule:
    every = 5

    def __init__(self):
        self.closed = Closed()
        self.nested = [self]
        self.nested.append(self.nested)
        self.settings = [Settings(1.0)]
        self.options = argparse.Namespace(power=1.0)

def read():
    given = os.environ.get("SCALE"), os.getenv("POWER")
    return RATES["first"], given, [SCALE * each for each in range(3)]

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
        ("script.os.environ['SCALE'] = '2'", True),
        ("script.os.environ['POWER'] = '2'", True),
        ("script.os.environ['UNREAD'] = '2'", False),
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
