"""The cloud is followed beside the supervisor, and nobody is asked where there is none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.supervisor.cloud import GoogleCloud
from pitstop.supervisor.metadata_server import MetadataServer, MetadataUnavailable
from pitstop.supervisor.preemption import PreemptionNotice
from pitstop.supervisor.preemption_watch import ENV_URL, PreemptionWatch, pause_seconds
from tests.supervisor.metadata import Google, serving


class Scripted:
    """A cloud that says one thing after the other, and then tells that it is done."""

    title = "Elsewhere"
    interval_seconds = 0.001

    def __init__(self, *says: Callable[[], PreemptionNotice | None]) -> None:
        self._says = list(says)
        self.done = threading.Event()

    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
        if not self._says:
            self.done.set()
            self.interval_seconds = 60.0
            return None
        return self._says.pop(0)()


def _silent() -> PreemptionNotice | None:
    raise MetadataUnavailable("nobody is there")


def _nothing() -> PreemptionNotice | None:
    return None


def test_a_notice_becomes_a_request_and_goes_when_it_is_withdrawn() -> None:
    seen, go_on = threading.Event(), threading.Event()

    def notice() -> PreemptionNotice:
        return PreemptionNotice(0.0, "they take it")

    def waits() -> PreemptionNotice:
        seen.set()
        go_on.wait(10)
        return notice()

    cloud = Scripted(notice, waits)
    with closing(PreemptionWatch(cloud)) as watch:
        assert seen.wait(10)
        asked = watch.request()
        go_on.set()
        assert cloud.done.wait(10)
        while watch.request() is not None:
            pass
    assert asked is not None
    assert asked.reason == "they take it, 0 s left"


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
    assert "Elsewhere cannot be asked" in told[0].message
    assert "nobody is there" in told[0].message


def test_a_server_that_does_not_answer_is_asked_less() -> None:
    assert [pause_seconds(1.0, failures) for failures in range(5)] == [1.0, 1.0, 1.0, 30.0, 30.0]


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_a_cloud_nobody_is_asked(choice: str, tmp_path: Path) -> None:
    before = threading.active_count()
    with serving(Google, "TRUE") as metadata:
        serving_threads = threading.active_count()
        watch = PreemptionWatch.choose(choice, {ENV_URL: metadata.url}, tmp_path)
        assert threading.active_count() == serving_threads
        assert watch.request() is None
        assert watch.take_problem() is None
        assert metadata.asked == []
    assert threading.active_count() == before


def test_a_cloud_that_is_named_is_asked(tmp_path: Path) -> None:
    with (
        serving(Google, "TRUE") as metadata,
        closing(PreemptionWatch.choose("gce", {ENV_URL: metadata.url}, tmp_path)) as watch,
    ):
        while (asked := watch.request()) is None:
            pass
    assert asked.source == "preemption"
    assert GoogleCloud.title in asked.reason
