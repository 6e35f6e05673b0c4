"""What clouds say when they take a machine away, and what is asked of the run then."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.supervisor.stops import cloud_notice
from pitstop.supervisor.stops.cloud_notice import (
    MalformedNotice,
    PreemptionNotice,
    request,
    warning,
)

_NOW = 1_764_000_000.0  # 2025-11-24 16:00:00 UTC


def _events(**event: object) -> str:
    plain = {"EventType": "Preempt", "Resources": ["me"], "NotBefore": ""}
    return json.dumps({"DocumentIncarnation": 3, "Events": [{**plain, **event}]})


def test_google_preempts_or_maintains_a_machine() -> None:
    preempted, maintenance = cloud_notice.GOOGLE_QUESTIONS
    assert not preempted.announces("FALSE\n")
    assert preempted.announces("TRUE\n")
    assert not maintenance.announces("NONE")
    assert not maintenance.announces("MIGRATE_ON_HOST_MAINTENANCE")
    assert maintenance.announces("TERMINATE_ON_HOST_MAINTENANCE\n")


def test_amazon_names_the_time() -> None:
    notice = cloud_notice.amazon('{"action": "stop", "time": "2025-11-24T16:01:30Z"}', _NOW)
    assert notice.ends_at_seconds == _NOW + 90
    assert notice.reason == "Amazon EC2 is reclaiming the spot instance (stop)"


def test_a_clock_that_is_slow_does_not_make_more_of_two_minutes() -> None:
    notice = cloud_notice.amazon('{"action": "terminate", "time": "2025-11-24T16:30:00"}', _NOW)
    assert notice.ends_at_seconds == _NOW + 120


def test_azure_names_the_time_until_the_event_has_started() -> None:
    later = cloud_notice.azure(_events(NotBefore="Mon, 24 Nov 2025 16:00:45 GMT"), "me", _NOW)
    started = cloud_notice.azure(_events(), "me", _NOW)
    assert later == PreemptionNotice(_NOW + 45, "Microsoft Azure: the spot machine is evicted")
    assert started is not None
    assert started.ends_at_seconds == _NOW + 30


@pytest.mark.parametrize(
    "event",
    [
        {"EventType": "Party"},
        {"EventType": "Freeze"},
        {"Resources": ["neighbour"]},
        {"Resources": None},
    ],
)
def test_events_of_azure_that_do_not_concern_this_machine(event: dict[str, object]) -> None:
    assert cloud_notice.azure(_events(**event), "me", _NOW) is None


def test_the_first_of_several_events_counts() -> None:
    times = ("Mon, 24 Nov 2025 16:10:00 GMT", "Mon, 24 Nov 2025 16:05:00 GMT")
    events = [json.loads(_events(NotBefore=time, EventType="Reboot")) for time in times]
    body = json.dumps({"Events": [event["Events"][0] for event in events]})
    notice = cloud_notice.azure(body, "me", _NOW)
    assert notice == PreemptionNotice(_NOW + 300, "Microsoft Azure: the machine is rebooted")


@pytest.mark.parametrize("body", ["", "<html>", "[]", "{}", '{"action": "stop", "time": "soon"}'])
def test_what_amazon_never_says(body: str) -> None:
    with pytest.raises(MalformedNotice):
        cloud_notice.amazon(body, _NOW)


@pytest.mark.parametrize(
    "body",
    ["", "[]", '{"Events": 1}', '{"Events": [1]}', _events(Resources=7), "[" * 65536],
)
def test_what_azure_never_says(body: str) -> None:
    with pytest.raises(MalformedNotice):
        cloud_notice.azure(body, "me", _NOW)


def test_a_time_of_azure_that_is_none() -> None:
    with pytest.raises(MalformedNotice):
        cloud_notice.azure(_events(NotBefore="soon"), "me", _NOW)


def test_what_google_never_says() -> None:
    for question in cloud_notice.GOOGLE_QUESTIONS:
        with pytest.raises(MalformedNotice):
            question.announces("<html>log in to the hotel</html>")


@given(st.text())
def test_no_answer_breaks_anything_but_by_its_own_error(body: str) -> None:
    for question in cloud_notice.GOOGLE_QUESTIONS:
        with contextlib.suppress(MalformedNotice):
            question.announces(body)
    with contextlib.suppress(MalformedNotice):
        cloud_notice.amazon(body, _NOW)
    with contextlib.suppress(MalformedNotice):
        cloud_notice.azure(body, "me", _NOW)


def test_a_notice_asks_for_a_stop_and_says_what_time_there_is() -> None:
    event = request(PreemptionNotice(_NOW + 90, "they take it"), _NOW)
    assert event is not None
    assert (event.source, event.urgency, event.seconds_left) == ("preemption", "graceful", 90.0)
    assert event.reason == "they take it, 90 s left"


def test_the_time_of_an_early_notice_is_still_trained() -> None:
    notice = PreemptionNotice(_NOW + 900, "they take it")
    assert request(notice, _NOW) is None
    assert request(notice, _NOW + 779.9) is None
    late = request(notice, _NOW + 780)
    assert late is not None
    assert late.seconds_left == 120.0


def test_a_time_that_has_passed_leaves_nothing() -> None:
    event = request(PreemptionNotice(_NOW - 5, "they take it"), _NOW)
    assert event is not None
    assert event.seconds_left == 0.0


def test_a_notice_warns_or_asks_for_a_stop_and_never_both() -> None:
    notice = PreemptionNotice(_NOW + 900, "they take it")
    early = warning(notice, _NOW)
    assert early is not None
    assert "they take it, in 15 min" in early.message
    assert "until 2 min before" in early.message
    assert warning(notice, _NOW + 780) is None
