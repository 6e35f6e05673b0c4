"""Who failed first, and who failed for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.diagnosis import CauseId, Diagnosis, Finding
from pitstop.events import AttemptEnded, AttemptStarted, TrainerExited
from pitstop.journal import Journal
from pitstop.report.gang import MemberReport, ended_seconds, of_members
from pitstop.report.why import WhyReport


def _member(
    task: str, state: str, ended: float = 0.0, cause: CauseId = "worker_lost"
) -> MemberReport:
    finding = Finding(cause, 0.9, "Something ended it.", (), ())
    return MemberReport(task, WhyReport(task, Diagnosis(1, state, finding)), ended)


def test_who_failed_first_is_explained_and_who_failed_later_is_its_victim() -> None:
    members = [
        _member("worker 0", "failed", 12.0),
        _member("worker 1", "failed", 10.0, "killed_from_outside"),
        _member("worker 2", "completed", 9.0),
        _member("ps 0", "stopped", 13.0),
    ]
    found = of_members("run", members)
    assert found.first.task == "worker 1"
    assert [each.task for each in found.others] == ["worker 0", "worker 2", "ps 0"]
    assert [found.is_victim(each) for each in found.others] == [True, False, False]
    record = found.to_json()
    assert record["first_failed"] == "worker 1"
    told = [(each["task"], each["victim"]) for each in record["members"]]
    assert told == [("worker 1", False), ("worker 0", True), ("worker 2", False), ("ps 0", False)]
    assert "2 s later" in found.lines()[0]


def test_who_fails_of_the_same_cause_is_nobodys_victim() -> None:
    causes: list[CauseId] = ["dependency_or_import_error", "dependency_or_import_error"]
    members = [_member(f"worker {i}", "failed", i, each) for i, each in enumerate(causes)]
    found = of_members("run", members)
    assert found.first.task == "worker 0"
    assert [each["victim"] for each in found.to_json()["members"]] == [False, False]
    assert "victim" not in found.lines()[0]


@pytest.mark.parametrize(
    ("task", "leader", "again"),
    [
        ("worker 1", "completed", False),
        ("worker 1", "stopped", True),
        ("evaluator 0", "completed", True),
    ],
)
def test_what_is_over_is_not_to_be_run_again(task: str, leader: str, *, again: bool) -> None:
    advice = ("Find out who killed it.", "After that, run the same command again; it goes on.")
    finding = Finding("killed_from_outside", 0.9, "Something ended it.", (), advice)
    lost = MemberReport(task, WhyReport(task, Diagnosis(1, "failed", finding)), 3.0)
    found = of_members("run", [_member("chief 0", leader, 9.0), lost]).first
    assert found.report.last.finding is not None
    told = found.report.last.finding.advice
    assert told[0] == advice[0]
    assert (told[1] == advice[1]) == again
    assert ("chief 0 has completed" in told[1]) != again


def test_where_nobody_failed_the_leader_stands_first() -> None:
    found = of_members("run", [_member("chief 0", "stopped", 3.0), _member("ps 0", "running")])
    assert found.first.task == "chief 0"
    assert found.to_json()["first_failed"] is None


@pytest.mark.parametrize("cause", ["preempted_or_terminated", "worker_lost"])
def test_a_request_of_a_person_is_explained_before_the_end_of_the_leader_for_it(
    cause: CauseId,
) -> None:
    members = [
        _member("worker 0", "stopped", 9.0, cause),
        _member("worker 1", "stopped", 8.0, cause),
        _member("worker 2", "stopped", 3.0, "stop_requested"),
    ]
    assert of_members("run", members).first.task == "worker 2"
    assert of_members("run", members[:2]).first.task == "worker 0"


def test_a_member_ended_when_its_script_did(tmp_path: Path) -> None:
    assert ended_seconds(tmp_path) == 0
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.append(AttemptStarted(1, ["python"], 1, 2, "host"))
        begun = ended_seconds(tmp_path)
        journal.append(TrainerExited(1, "", 12, 1, 2, "training", 0.1))
        exited = ended_seconds(tmp_path)
        journal.append(AttemptEnded(1, "failed", 1, 12, None))
    assert 0 < begun <= exited == ended_seconds(tmp_path)
