"""How answers are judged and counted: the figures of the fault bench mean what they say."""

from __future__ import annotations

from benchmarks.faults.baselines import Answer
from benchmarks.faults.judge import Kind, Verdict, judge, score, words_of
from benchmarks.faults.scenario import scenario

_OOM = scenario("13-memory-limit", "host_oom_killed", among="sigkill", says="cgroup")
_HEALTHY = scenario("01-healthy", "completed_normally")


def test_an_answer_is_right_when_cause_and_detail_are() -> None:
    assert judge(_OOM, frozenset({"host_oom_killed"}), "memory\nCGROUP limit").kind == "right"
    assert judge(_OOM, frozenset({"host_oom_killed"}), "memory").kind == "without detail"


def test_a_coarse_answer_counts_where_the_cause_is_among_it() -> None:
    coarse: Answer = frozenset({"host_oom_killed", "gpu_oom"})
    assert judge(_OOM, coarse, "cgroup").kind == "right"


def test_an_answer_that_accuses_nobody_is_honest_and_not_right() -> None:
    assert judge(_OOM, frozenset({"killed_from_outside"})).kind == "honest"
    assert judge(_HEALTHY, frozenset({"unknown"})).kind == "honest"


def test_a_fault_that_nobody_noticed_is_no_accusation() -> None:
    assert judge(_OOM, frozenset({"completed_normally"})).kind == "missed"


def test_a_wrong_cause_is_a_false_accusation_of_a_healthy_run_too() -> None:
    assert judge(_OOM, frozenset({"native_crash"})).kind == "false"
    assert judge(_HEALTHY, frozenset({"host_oom_killed"})).kind == "false"


def test_the_words_of_a_report_hold_summary_evidence_and_chain() -> None:
    report = {
        "summary": "It was killed.",
        "evidence": [{"source": "kernel log", "text": "oom-kill"}],
        "chain": [{"source": "memory", "text": "it leaked"}],
    }
    assert words_of(report).splitlines() == ["It was killed.", "oom-kill", "it leaked"]


def test_a_set_counts_only_without_a_mistake() -> None:
    def verdict(look_alikes: str, kind: Kind) -> Verdict:
        return Verdict("name", look_alikes, kind)

    found = score(
        [
            verdict("a", "right"),
            verdict("a", "right"),
            verdict("b", "right"),
            verdict("b", "without detail"),
            verdict("", "false"),
            verdict("", "missed"),
        ]
    )
    assert (found.asked, found.top_1, found.detailed) == (6, 4, 3)
    assert (found.sets, found.sets_right, found.pairs, found.pairs_right) == (2, 1, 4, 3)
    assert found.false_accusations == 1
