"""Samples as lines, and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from pitstop import journal
from pitstop.flight.files import decode, encode
from pitstop.flight.sample import HostSample, Sample
from tests.flight.samples import SAMPLE, TRAINING, at


def test_everything_comes_back() -> None:
    assert decode(encode(SAMPLE)) == SAMPLE


def test_what_is_not_known_is_left_out() -> None:
    nothing = Sample(3, 5.0, 6.0)
    assert decode(encode(nothing)) == nothing
    assert len(encode(nothing)) < 150


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_json_all_the_same(value: float) -> None:
    line = encode(at(0, training={"loss": value, "metrics": {"loss": value}}))
    json.loads(line, parse_constant=pytest.fail)
    found = decode(line)
    assert found is not None
    assert found.training is not None
    assert repr(found.training.loss) == repr(found.training.metrics["loss"]) == repr(value)


def test_a_torn_or_altered_line_is_no_sample() -> None:
    line = encode(SAMPLE)
    assert decode(line[:-7]) is None
    assert decode(line.replace(b'"step":100', b'"step":101')) is None


def test_members_of_a_later_version_are_passed_over() -> None:
    record = journal.unseal(encode(replace(SAMPLE, training=TRAINING))) or {}
    record["moon"] = 1
    record["host"]["moon"] = 2
    record["processes"][0]["moon"] = 3
    assert decode(journal.seal(json.dumps(record))) == SAMPLE


def test_a_sample_of_an_earlier_version_lacks_some() -> None:
    record = journal.unseal(encode(SAMPLE)) or {}
    del record["host"]
    found = decode(journal.seal(json.dumps(record)))
    assert found == replace(SAMPLE, host=HostSample())
