"""The JSON report: the contract's keys, and JSON that every parser takes."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from pitstop.plain_text import json_text
from pitstop.report.files import FORMS
from tests.report.samples import REPORT, RUNNING, whole


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def test_the_last_attempt_is_the_object_and_earlier_ones_lie_below() -> None:
    found = json.loads(FORMS["report.json"](REPORT), parse_constant=refuse)
    assert found["cause"] == "disk_full"
    assert found["confidence"] == 0.95
    assert found["missing"] == ["the kernel log"]
    assert found["evidence"][1]["source"] == "output"
    assert len(found["advice"]) == 2
    assert found["others"][0]["cause"] == "nan_loss"
    assert [(each["attempt"], each["cause"]) for each in found["attempts"]] == [
        (1, "killed_from_outside")
    ]


def test_how_far_the_attempts_came() -> None:
    found = json.loads(FORMS["report.json"](whole("disk_full")), parse_constant=refuse)
    assert [(each["attempt"], each["last_step"]) for each in found["progress"]] == [
        (1, 30),
        (2, 47),
    ]
    assert found["compared"][0].startswith("This attempt got 17 steps further")
    assert [link["source"] for link in found["chain"]] == ["flight recorder", "kernel log"]


def test_a_running_run_has_no_cause() -> None:
    found = json.loads(FORMS["report.json"](RUNNING))
    assert (found["state"], found["cause"], found["evidence"]) == ("running", None, [])


def test_numbers_that_json_lacks_become_null() -> None:
    value = {"a": [math.nan, 1.5], "b": (math.inf, "nan"), "c": -math.inf}
    found = json.loads(json_text(value))
    assert found == {"a": [None, 1.5], "b": [None, "nan"], "c": None}
