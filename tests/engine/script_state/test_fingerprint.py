"""Settings of a process that a training may change."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from pitstop.engine.script_state import fingerprint

_NAME = f"the handler of signal {int(signal.SIGUSR2)}"


@pytest.fixture(autouse=True)
def handler_put_back() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR2)
    yield
    signal.signal(signal.SIGUSR2, before)


def _handles(_number: int, _frame: object) -> None:
    raise AssertionError


def test_a_handler_of_the_script_is_told_by_its_name() -> None:
    signal.signal(signal.SIGUSR2, _handles)
    assert fingerprint.of_process()[_NAME] == "_handles"


def test_own_handlers_and_defaults_are_nothing_that_a_script_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_handles, "__module__", "pitstop.engine.script_stop")
    for handler in (_handles, signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGUSR2, handler)
        assert fingerprint.of_process()[_NAME] == ""
