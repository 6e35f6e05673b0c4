"""Settings of the process that a training changes by a function: restored, or named."""

from __future__ import annotations

import calendar
import gc
import logging
import os
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.script_state.settings import SETTINGS
from tests.engine.script_state.scripted import begun, carried, process, saved_of

_SOURCE = """
import abc
import calendar
import functools
import gc
import logging
import os
import resource
import signal
import sys
import warnings

logging.getLogger("of.a.script")

class Rule:
    changes = 0

    @functools.cache
    def cached(self, epoch):
        Rule.changes += 1
        return Rule.changes

    def level(self):
        logging.getLogger("of.a.script").setLevel(logging.ERROR)

    def off(self):
        logging.disable(logging.INFO)

    def warn(self):
        warnings.filterwarnings("error", message="no .* left", category=RuntimeWarning)

    def collect(self):
        gc.set_threshold(701, 11, 12)

    def deep(self):
        sys.setrecursionlimit(sys.getrecursionlimit() + 7)

    def week(self):
        calendar.setfirstweekday((calendar.firstweekday() + 1) % 7)

    def handle(self):
        logging.getLogger("of.a.script").addHandler(logging.NullHandler())

    def mask(self):
        os.umask(0o27)

    def bound(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))

    def ring(self):
        signal.setitimer(signal.ITIMER_PROF, 9999, 7)

    def register(self):
        abc.ABC.register(type("Other", (), {}))

    def find(self):
        sys.path.append("/nowhere")
"""


def _now() -> tuple[Any, ...]:
    level = logging.getLogger("of.a.script").level
    of_logging = level, logging.root.manager.disable
    of_process = SETTINGS.__dict__["mask_of_files"], resource.getrlimit(resource.RLIMIT_NOFILE)
    return *of_logging, *of_process, gc.get_threshold(), sys.getrecursionlimit(), *warnings.filters


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    week, thresholds, deep = calendar.firstweekday(), gc.get_threshold(), sys.getrecursionlimit()
    limit, mask = resource.getrlimit(resource.RLIMIT_NOFILE), SETTINGS.__dict__["mask_of_files"]
    with warnings.catch_warnings():
        yield process(_SOURCE, monkeypatch, tmp_path)
    signal.setitimer(signal.ITIMER_PROF, 0)
    os.umask(mask)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    calendar.setfirstweekday(week)
    gc.set_threshold(*thresholds)
    sys.setrecursionlimit(deep)
    logging.disable(logging.NOTSET)
    logging.getLogger("of.a.script").setLevel(logging.NOTSET)
    logging.getLogger("of.a.script").handlers.clear()


_RESTORED = ("level", "off", "warn", "collect", "deep", "mask", "bound")
_NAMED = ("week", "handle", "ring", "register")


@pytest.mark.parametrize("setter", _RESTORED)
def test_a_setting_comes_back(run: Any, setter: str) -> None:
    state, before = begun(rule=(rule := run().Rule())), _now()
    getattr(rule, setter)()
    after = _now()
    assert after != before
    saved, arrays = saved_of(state)
    assert state.unverified == []
    state.restore({}, arrays, read_ahead=False)
    assert _now() == before
    assert state.restore(saved, arrays, read_ahead=False) == []
    assert _now() == after


@pytest.mark.parametrize("setter", [*_NAMED, "find"])
def test_a_setting_that_is_not_restored_is_named(run: Any, setter: str) -> None:
    state = begun(rule=(rule := run().Rule()))
    saved_of(state)
    assert state.unverified == []
    getattr(rule, setter)()
    saved_of(state)
    assert len(state.unverified) == 1


def test_nothing_is_looked_at_for_code_that_sets_nothing(run: Any) -> None:
    module = run()
    for setter in (*_RESTORED, *_NAMED):
        assert "process" in begun(rule=getattr(module.Rule, setter)).baseline
    assert "process" not in begun(rule=module.Rule.find).baseline


def test_a_method_that_remembers_what_it_returned_is_named(run: Any) -> None:
    state = begun(rule=(rule := run().Rule()))
    rule.cached(1)
    saved_of(state)
    assert any("cached" in name for name in state.unverified)


def test_a_training_that_has_set_nothing_carries_nothing(run: Any) -> None:
    rule = run().Rule()
    carried(begun(rule=rule), begun(rule=rule))
