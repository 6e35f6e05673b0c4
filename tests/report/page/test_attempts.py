"""All attempts of a run on a page."""

from __future__ import annotations

from pitstop.report.page.attempts import attempts_section
from pitstop.report.progress import AttemptProgress


def _attempts(count: int) -> list[AttemptProgress]:
    return [
        AttemptProgress(i + 1, "failed", "disk_full", 0.0, 90.0, 10 * i, 10 * i + 20, None)
        for i in range(count)
    ]


def test_a_bar_for_each_over_the_steps_of_the_run() -> None:
    section = attempts_section(_attempts(3))
    assert section is not None
    bars = [each.get("style") for each in section.iter("i")]
    assert bars == [
        "left:0.00%;width:50.00%",
        "left:25.00%;width:50.00%",
        "left:50.00%;width:50.00%",
    ]
    text = "".join(section.itertext())
    assert "step 20 to 40, nothing saved" in text
    assert "The last 3 attempts ended with the same cause, disk_full." in text


def test_one_attempt_has_nothing_beside_it() -> None:
    assert attempts_section(_attempts(1)) is None


def test_many_attempts_are_cut_short() -> None:
    section = attempts_section(_attempts(45))
    assert section is not None
    assert len(list(section.iter("tr"))) == 30
    assert "15 older ones are not shown." in "".join(section.itertext())
