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
    return RATES["first"]

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


def _reached(script: Any, rule: Any) -> str:
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
    ],
)
def test_what_the_code_reads_is_in_it(run: Any, change: str, differs: bool) -> None:
    script = run()
    before = _reached(script, script.Rule())
    script = run()
    rule = script.Rule()
    exec(change, {"script": script, "rule": rule})
    assert (_reached(script, rule) != before) == differs
