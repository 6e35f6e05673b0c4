"""Clouds are told by their firmware, and asked as their documentation says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.supervisor.runs.run_request import PREEMPTION_CHOICES
from pitstop.supervisor.stops.cloud import (
    CLOUDS,
    ENV_URL,
    AmazonCloud,
    AzureCloud,
    Cloud,
    GoogleCloud,
    MetadataServer,
    MetadataUnavailable,
    PreemptionWatch,
    ask,
    detect,
    pause_seconds,
)
from pitstop.supervisor.stops.cloud_notice import PreemptionNotice
from tests.supervisor.metadata import NAME, Amazon, Azure, Google, serving

_NOW = 1_764_000_000.0
_TERMINATES = '{"action": "terminate", "time": "2025-11-24T16:01:30Z"}'


@pytest.mark.parametrize(
    ("firmware", "cloud"),
    [
        ({"product_name": "Google Compute Engine\n", "sys_vendor": "Google\n"}, "gce"),
        ({"sys_vendor": "Amazon EC2\n", "product_name": "c5.large\n"}, "aws"),
        ({"sys_vendor": "Xen\n", "bios_version": "4.11.amazon\n"}, "aws"),
        (
            {
                "sys_vendor": "Microsoft Corporation\n",
                "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n",
            },
            "azure",
        ),
        ({"sys_vendor": "Microsoft Corporation\n", "chassis_asset_tag": "1234\n"}, ""),
        ({"sys_vendor": "QEMU\n", "product_name": "Standard PC\n"}, ""),
        ({}, ""),
    ],
)
def test_the_firmware_tells_the_cloud(firmware: dict[str, str], cloud: str, tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/dmi/id"
    folder.mkdir(parents=True)
    for name, text in firmware.items():
        (folder / name).write_text(text)
    assert detect(tmp_path) == cloud


def test_google_counts_from_its_first_notice() -> None:
    cloud = GoogleCloud()
    with serving(Google, "FALSE") as metadata:
        server = MetadataServer(metadata.url)
        assert ask(cloud, server, _NOW) is None
        metadata.said = "TRUE"
        first, second = ask(cloud, server, _NOW + 1), ask(cloud, server, _NOW + 9)
    assert first == second
    assert first is not None
    assert first.ends_at_seconds == _NOW + 31


def test_a_maintenance_of_google_is_counted_from_its_first_notice(tmp_path: Path) -> None:
    cloud = GoogleCloud(tmp_path / "no gpus")
    with serving(Google, "FALSE") as metadata:
        server = MetadataServer(metadata.url)
        assert ask(cloud, server, _NOW) is None
        metadata.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
        first, second = ask(cloud, server, _NOW + 1), ask(cloud, server, _NOW + 9)
        metadata.said = "TRUE"
        preempted = ask(cloud, server, _NOW + 10)
    assert first == second
    assert first is not None
    assert first.ends_at_seconds == _NOW + 61
    assert preempted is not None
    assert preempted.ends_at_seconds == _NOW + 40


def test_a_maintenance_that_turns_out_worse_is_counted_from_then_on(tmp_path: Path) -> None:
    cloud = GoogleCloud(tmp_path / "no gpus")
    with serving(Google, "FALSE") as metadata:
        server = MetadataServer(metadata.url)
        metadata.maintenance = "MIGRATE_ON_HOST_MAINTENANCE"
        moved = ask(cloud, server, _NOW)
        metadata.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
        stopped = ask(cloud, server, _NOW + 40)
    assert moved is None
    assert stopped is not None
    assert stopped.ends_at_seconds == _NOW + 100


@pytest.mark.parametrize(("before", "seconds"), [("NONE", 3600), ("", 60)])
def test_a_machine_with_gpus_is_told_an_hour_before_if_we_saw_it_come(
    tmp_path: Path, before: str, seconds: int
) -> None:
    cloud = GoogleCloud(tmp_path)
    with serving(Google, "FALSE") as metadata:
        server = MetadataServer(metadata.url)
        if before:
            assert ask(cloud, server, _NOW) is None
        metadata.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
        notices = [ask(cloud, server, _NOW + i) for i in range(3)]
    assert [each.ends_at_seconds - _NOW for each in notices if each] == [seconds] * 3


def test_amazon_is_asked_with_one_token_until_it_is_refused() -> None:
    cloud = AmazonCloud()
    with serving(Amazon, "") as metadata:
        server = MetadataServer(metadata.url)
        assert ask(cloud, server, _NOW) is None
        assert ask(cloud, server, _NOW) is None
        metadata.said = _TERMINATES
        metadata.tokens.clear()
        notice = ask(cloud, server, _NOW)
    assert notice is not None
    assert notice.ends_at_seconds == _NOW + 90
    assert [request.split()[0] for request in metadata.asked] == [
        *("PUT", "GET", "GET"),
        *("GET", "PUT", "GET"),
    ]


def test_azure_is_asked_for_its_name_once() -> None:
    cloud = AzureCloud()
    events = f'[{{"EventType": "Preempt", "Resources": ["{NAME}"], "NotBefore": ""}}]'
    with serving(Azure, "[]") as metadata:
        server = MetadataServer(metadata.url)
        assert ask(cloud, server, _NOW) is None
        metadata.said = events
        assert ask(cloud, server, _NOW) is not None
    assert sum("compute/name" in request for request in metadata.asked) == 1


def test_a_server_that_is_another_one_is_no_cloud() -> None:
    with (
        serving(Azure, "[]") as metadata,
        pytest.raises(MetadataUnavailable, match="not from Google's metadata"),
    ):
        ask(GoogleCloud(), MetadataServer(metadata.url), _NOW)


def test_an_answer_that_cannot_be_read_is_none() -> None:
    with serving(Google, "<html>") as metadata, pytest.raises(MetadataUnavailable, match="html"):
        ask(GoogleCloud(), MetadataServer(metadata.url), _NOW)


def test_nobody_answers() -> None:
    with serving(Google, "FALSE") as metadata:
        url = metadata.url
    with pytest.raises(MetadataUnavailable, match="Connection refused"):
        ask(AmazonCloud(), MetadataServer(url), _NOW)


def test_what_is_refused_is_told() -> None:
    with serving(Google, "FALSE") as metadata, pytest.raises(MetadataUnavailable, match="403"):
        ask(AmazonCloud(), MetadataServer(metadata.url), _NOW)


def test_every_cloud_can_be_chosen() -> None:
    assert ("auto", "none", *CLOUDS) == PREEMPTION_CHOICES


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
