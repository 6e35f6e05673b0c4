"""Clouds are told by their firmware, and asked as their documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.supervisor.runs.run_request import PREEMPTION_CHOICES
from pitstop.supervisor.stops.cloud import (
    CLOUDS,
    AmazonCloud,
    AzureCloud,
    GoogleCloud,
    MetadataServer,
    MetadataUnavailable,
    ask,
    detect,
)
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
