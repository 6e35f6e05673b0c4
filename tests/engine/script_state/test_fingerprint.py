"""Settings of a process that a training may change."""

from __future__ import annotations

import logging
import logging.handlers
import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import ThreadPool
from types import SimpleNamespace

import numpy as np
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
    monkeypatch.setattr(_handles, "__module__", "pitstop.engine.session.script_stop")
    for handler in (_handles, signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGUSR2, handler)
        assert fingerprint.of_process()[_NAME] == ""


def test_a_process_that_is_asked_changes_until_it_has_ended() -> None:
    asked = (sys.executable, "-c", "input()")
    with subprocess.Popen(asked, stdin=subprocess.PIPE) as process:
        assert fingerprint.fingerprint(process) != fingerprint.fingerprint(process)
        process.communicate(b"\n")
    assert fingerprint.fingerprint(process) is None


def test_a_pool_changes_when_it_is_given_work() -> None:
    fork = multiprocessing.get_context("fork")
    with fork.Pool(1) as pool, ProcessPoolExecutor(1, fork) as executor, ThreadPool(1) as threads:
        given = (pool, lambda: pool.apply(abs, (1,))), (executor, lambda: executor.submit(abs, 1))
        for each, give in given:
            before = fingerprint.fingerprint(each)
            assert fingerprint.fingerprint(each) == before
            give()
            assert fingerprint.fingerprint(each) != before
        before = fingerprint.fingerprint(threads)
        threads.apply(abs, (1,))
        assert fingerprint.fingerprint(threads) == before


def test_settings_of_libraries_are_told_where_they_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    epsilon = 1e-7
    loaded = SimpleNamespace(backend=SimpleNamespace(epsilon=lambda: epsilon))
    monkeypatch.setitem(sys.modules, "keras", loaded)
    before = fingerprint.of_process()
    epsilon = 1e-3
    with np.printoptions(precision=3):
        now = fingerprint.of_process()
    changed = {name for name, told in before.items() if told != now[name]}
    assert changed == {"keras.backend.epsilon()", "numpy.get_printoptions()"}


def test_a_handler_that_keeps_records_changes_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = logging.StreamHandler()
    kept = logging.handlers.MemoryHandler(9)
    monkeypatch.setattr(logging.getLogger("test.kept"), "handlers", [kept])
    before, settings = fingerprint.fingerprint(kept), fingerprint.of_process()
    kept.handle(logging.LogRecord("name", logging.INFO, "file", 1, "text", None, None))
    assert before != fingerprint.fingerprint(kept)
    assert settings.items() - fingerprint.of_process().items()
    assert fingerprint.fingerprint(shown) is None


def test_a_picture_in_memory_changes_with_its_points() -> None:
    class Image:
        __module__ = "PIL.Image"
        points = bytearray(4)

        def tobytes(self) -> bytes:
            return bytes(self.points)

    class ImageFont(Image):
        __module__ = "PIL.ImageFont"

    picture, font = Image(), ImageFont()
    before = fingerprint.fingerprint(picture)
    picture.points[1] = 7
    assert before is not None
    assert fingerprint.fingerprint(picture) != before
    assert fingerprint.fingerprint(font) is None
