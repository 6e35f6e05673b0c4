"""Who is told when that the training is over."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.cluster import roster
from pitstop.cluster.messages import PROTOCOL, Beat, EndReport, JoinRequest
from pitstop.cluster.roster import BeatLease, ClusterMember
from pitstop.cluster.spec import ClusterSpec, Task

SPEC = ClusterSpec.from_json(
    {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1", "e:1"], "evaluator": ["f:1"]}
)
LEASE = BeatLease(10.0, 0.0)
SERVING = Beat("running", "server", serves=True)
TRAINING = Beat("running", "train", step=3)
REQUEST = JoinRequest(PROTOCOL, "worker 0", SPEC.counts, "1", "host", 7)
OTHERS = sorted(task for task in SPEC.addresses if task.kind != "chief")


class Cluster:
    """The members as a leader knows them, some named like `ps_0`."""

    def __init__(self, **beats: Beat) -> None:
        self.members: dict[Task, ClusterMember] = {}
        for name, beat in beats.items():
            self.join(Task.parse(name.replace("_", " ")), beat)

    def join(self, task: Task, beat: Beat) -> None:
        self.members[task] = ClusterMember.joining(replace(REQUEST, task=str(task)), LEASE)
        self.hear(task, beat)

    def hear(self, task: Task, message: Beat | EndReport, now_seconds: float = 0.0) -> None:
        self.members[task] = self.members[task].heard(message, now_seconds)

    def end(self, task: Task) -> None:
        self.hear(task, EndReport("completed", 0))

    def lose(self, task: Task) -> None:
        self.members[task] = replace(self.members[task], lost=True)

    def release(self, task: Task) -> None:
        self.members[task] = replace(self.members[task], released=True)

    def live(self) -> list[ClusterMember]:
        return [each for each in self.members.values() if each.is_live]

    def due(self, outcome: str) -> set[Task]:
        return {each.task for each in roster.next_to_release(self.live(), outcome)}

    def silent(self, now_seconds: float) -> set[Task]:
        return {each.task for each in self.live() if each.lease.is_over(now_seconds)}


def test_workers_go_before_parameter_servers() -> None:
    known = Cluster(ps_0=SERVING, worker_0=SERVING, worker_1=SERVING)
    first = known.due("completed")
    assert first == {Task("worker", 0), Task("worker", 1)}
    for task in first:
        known.release(task)
    assert known.due("completed") == set()
    known.end(Task("worker", 0))
    assert known.due("completed") == set()
    known.end(Task("worker", 1))
    assert known.due("completed") == {Task("ps", 0)}


def test_who_trains_is_waited_for_when_the_training_has_completed() -> None:
    known = Cluster(ps_0=SERVING, worker_1=TRAINING)
    assert known.due("completed") == set()
    assert known.due("failed") == {Task("worker", 1)}


def test_the_evaluator_is_told_last_and_is_not_waited_for_before_the_chief_saves() -> None:
    known = Cluster(evaluator_0=TRAINING, worker_0=TRAINING)
    assert [each.task.kind for each in known.live() if each.works] == ["worker"]
    assert known.due("stopped") == {Task("worker", 0)}
    known.end(Task("worker", 0))
    assert known.due("completed") == {Task("evaluator", 0)}


def test_a_silent_worker_does_not_keep_the_parameter_servers() -> None:
    known = Cluster(ps_0=SERVING, worker_0=TRAINING)
    known.hear(Task("ps", 0), SERVING, 9.0)
    assert known.silent(11.0) == {Task("worker", 0)}
    known.lose(Task("worker", 0))
    assert known.due("completed") == {Task("ps", 0)}


def test_a_member_that_is_suspended_is_not_given_up() -> None:
    known = Cluster(worker_0=replace(TRAINING, state="suspended"))
    assert known.silent(1000.0) == set()


def test_a_closed_connection_leaves_little_time_to_come_back() -> None:
    parted = LEASE.parted(1.0)
    assert not parted.is_over(2.0)
    assert parted.is_over(3.5)
    back = ClusterMember.joining(REQUEST, BeatLease(10.0, 3.0))
    assert not back.lease.is_over(12.0)


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (replace(REQUEST, protocol=PROTOCOL + 1), "protocol"),
        (replace(REQUEST, shape={"worker": 2}), "2 worker"),
        (replace(REQUEST, task="worker 7"), "worker 7"),
        (replace(REQUEST, task="chief 0"), "chief 0"),
        (replace(REQUEST, task=""), "has no"),
    ],
)
def test_who_does_not_belong_to_the_cluster_is_refused(request_: JoinRequest, word: str) -> None:
    assert word in roster.objection(SPEC, request_)


@pytest.mark.parametrize("task", ["worker 0", "evaluator 0"])
def test_who_belongs_to_the_cluster_is_not_refused(task: str) -> None:
    without_address = {kind: ["a:1"] for kind in ("chief", "worker")}
    spec = ClusterSpec.from_json(without_address)
    assert spec.has(Task.parse(task))
    assert roster.objection(spec, replace(REQUEST, task=task, shape=spec.counts)) == ""


@given(
    st.lists(
        st.tuples(st.sampled_from(OTHERS), st.sampled_from(["join", "end", "lose", "release"])),
        max_size=40,
    ),
    st.dictionaries(st.sampled_from(OTHERS), st.booleans()),
    st.sampled_from(["completed", "stopped", "failed"]),
)
def test_in_any_order_no_parameter_server_goes_before_the_last_worker(
    happenings: list[tuple[Task, str]], serves: dict[Task, bool], outcome: str
) -> None:
    known = Cluster()
    for task, happening in happenings:
        if happening == "join":
            known.join(task, SERVING if serves.get(task, True) else TRAINING)
        elif task in known.members and happening == "end":
            known.end(task)
        elif task in known.members and happening == "lose":
            known.lose(task)
        elif task in known.due(outcome):
            known.release(task)
        due = known.due(outcome)
        live = {member.task for member in known.live()}
        assert due <= live
        assert not any(known.members[task].released for task in due)
        if any(task.kind == "ps" for task in due):
            assert all(task.kind in ("ps", "evaluator") for task in live)
        if any(task.kind == "evaluator" for task in due):
            assert all(task.kind == "evaluator" for task in live)


@given(
    st.dictionaries(st.sampled_from(OTHERS), st.booleans(), min_size=1),
    st.sampled_from(["stopped", "failed"]),
)
def test_when_each_ends_at_its_release_all_have_ended(
    serves: dict[Task, bool], outcome: str
) -> None:
    known = Cluster()
    for task, serving in serves.items():
        known.join(task, SERVING if serving else TRAINING)
    for _ in range(3):
        for task in known.due(outcome):
            known.release(task)
            known.hear(task, EndReport(outcome, 75))
    assert known.live() == []


@pytest.mark.parametrize(
    ("lease", "late"),
    [
        (LEASE, [False, False, True, False]),
        (LEASE.parted(0.0), [True, False, False, False]),
        (LEASE.renewed(0.0, suspended=True), [False] * 4),
    ],
    ids=["silent", "parted", "suspended"],
)
def test_one_is_late_until_it_is_given_up(lease: BeatLease, late: list[bool]) -> None:
    assert [lease.is_late(now_seconds) for now_seconds in (0.4, 2.4, 5.0, 10.0)] == late
