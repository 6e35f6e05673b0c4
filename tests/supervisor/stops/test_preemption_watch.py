"""The cloud is followed beside the supervisor, and nobody is asked where there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.supervisor.stops.cloud import (
    Cloud,
    GoogleCloud,
    MetadataServer,
    MetadataUnavailable,
)
from pitstop.supervisor.stops.cloud_notice import PreemptionNotice
from pitstop.supervisor.stops.preemption_watch import ENV_URL, PreemptionWatch, pause_seconds
from tests.supervisor.metadata import Google, serving


class Scripted(Cloud):
    """A cloud that says one thing after the other, and then tells that it is done."""

    title = "Elsewhere"
    interval_seconds = 0.001

    def __init__(self, *says: Callable[[], PreemptionNotice | None], held: bool = False) -> None:
        """With `held`, it says nothing more until `go_on` is set."""
        self._says = list(says)
        self._held = held
        self.waiting, self.go_on, self.done = (threading.Event() for _ in range(3))

    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
        if not self._says:
            self.waiting.set()
            if self._held:
                self.go_on.wait(10)
            self.done.set()
            self.interval_seconds = 60.0
            return None
        return self._says.pop(0)()


def _silent() -> PreemptionNotice | None:
    raise MetadataUnavailable("nobody is there")


def _nothing() -> PreemptionNotice | None:
    return None


def test_a_notice_becomes_a_request_and_goes_when_it_is_withdrawn() -> None:
    cloud = Scripted(lambda: PreemptionNotice(0.0, "they take it"), held=True)
    with closing(PreemptionWatch(cloud)) as watch:
        assert cloud.waiting.wait(10)
        asked = watch.request()
        cloud.go_on.set()
        assert cloud.done.wait(10)
        while watch.request() is not None:
            pass
    assert asked is not None
    assert asked.reason == "they take it, 0 s left"


def test_an_early_notice_is_told_of_once() -> None:
    def early() -> PreemptionNotice:
        return PreemptionNotice(time.time() + 900, "they take it")

    cloud = Scripted(early, held=True)
    with closing(PreemptionWatch(cloud)) as watch:
        assert cloud.waiting.wait(10)
        first, second = watch.take_warning(), watch.take_warning()
        asked = watch.request()
        cloud.go_on.set()
    assert first is not None
    assert "they take it" in first.message
    assert (second, asked) == (None, None)


def test_three_failures_in_a_row_are_told_once() -> None:
    reached = threading.Event()

    def last() -> PreemptionNotice | None:
        reached.set()
        return _silent()

    with closing(PreemptionWatch(Scripted(_silent, _nothing, _silent, _silent, last))) as watch:
        assert reached.wait(10)
        told = [each for _ in range(1000) if (each := watch.take_problem())]
        while not told:
            told = [each for each in [watch.take_problem()] if each]
        assert watch.take_problem() is None
    assert "Cannot ask Elsewhere" in told[0].message
    assert "nobody is there" in told[0].message


def test_a_server_that_does_not_answer_is_asked_less() -> None:
    assert [pause_seconds(1.0, failures) for failures in range(5)] == [1.0, 1.0, 1.0, 30.0, 30.0]


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_a_cloud_nobody_is_asked(choice: str, tmp_path: Path) -> None:
    with serving(Google, "TRUE") as metadata:
        before = set(threading.enumerate())
        watch = PreemptionWatch.choose(choice, {ENV_URL: metadata.url}, tmp_path)
        assert set(threading.enumerate()) <= before
        assert watch.request() is None
        assert watch.take_problem() is None
        assert metadata.asked == []


def test_a_cloud_that_is_named_is_asked(tmp_path: Path) -> None:
    with (
        serving(Google, "TRUE") as metadata,
        closing(PreemptionWatch.choose("gce", {ENV_URL: metadata.url}, tmp_path)) as watch,
    ):
        while (asked := watch.request()) is None:
            pass
    assert asked.source == "preemption"
    assert GoogleCloud.title in asked.reason
