"""Who is told when that the training is over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.cluster import roster
from pitstop.cluster.messages import PROTOCOL, Beat, EndReport, JoinRequest
from pitstop.cluster.roster import BeatLease, Roster
from pitstop.cluster.spec import ClusterSpec, Task

SPEC = ClusterSpec.from_json(
    {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1", "e:1"], "evaluator": ["f:1"]}
)
LEASE = BeatLease(10.0, 0.0)
SERVING = Beat("running", "server", serves=True)
TRAINING = Beat("running", "train", step=3)
REQUEST = JoinRequest(PROTOCOL, "worker 0", SPEC.counts, "1", "host", 7)
OTHERS = sorted(task for task in SPEC.addresses if task.kind != "chief")


def cluster(**beats: Beat) -> Roster:
    """A roster of members named like `ps_0`."""
    known = Roster()
    for name, beat in beats.items():
        task = name.replace("_", " ")
        known = roster.joined(known, replace(REQUEST, task=task), LEASE)
        known = roster.heard(known, Task.parse(task), beat, 0.0)
    return known


def ended(known: Roster, *names: str) -> Roster:
    for name in names:
        known = roster.heard(known, Task.parse(name), EndReport("completed", 0), 1.0)
    return known


def test_workers_go_before_parameter_servers() -> None:
    known = cluster(ps_0=SERVING, worker_0=SERVING, worker_1=SERVING)
    first = roster.next_to_release(known, "completed")
    assert set(first) == {Task("worker", 0), Task("worker", 1)}
    for task in first:
        known = roster.released(known, task)
    assert roster.next_to_release(known, "completed") == ()
    known = ended(known, "worker 0")
    assert roster.next_to_release(known, "completed") == ()
    known = ended(known, "worker 1")
    assert roster.next_to_release(known, "completed") == (Task("ps", 0),)


def test_who_trains_is_waited_for_when_the_training_has_completed() -> None:
    known = cluster(ps_0=SERVING, worker_1=TRAINING)
    assert roster.next_to_release(known, "completed") == ()
    assert roster.next_to_release(known, "failed") == (Task("worker", 1),)


def test_the_evaluator_is_told_last_and_is_not_waited_for_before_the_chief_saves() -> None:
    known = cluster(evaluator_0=TRAINING, worker_0=TRAINING)
    assert [each.task.kind for each in known.live if each.works] == ["worker"]
    assert roster.next_to_release(known, "stopped") == (Task("worker", 0),)
    known = ended(known, "worker 0")
    assert roster.next_to_release(known, "completed") == (Task("evaluator", 0),)


def test_a_silent_worker_does_not_keep_the_parameter_servers() -> None:
    known = roster.heard(cluster(ps_0=SERVING, worker_0=TRAINING), Task("ps", 0), SERVING, 9.0)
    assert roster.silent(known, 11.0) == (Task("worker", 0),)
    known = roster.lost(known, Task("worker", 0))
    assert roster.next_to_release(known, "completed") == (Task("ps", 0),)


def test_a_member_that_is_suspended_is_not_given_up() -> None:
    known = cluster(worker_0=replace(TRAINING, state="suspended"))
    assert roster.silent(known, 1000.0) == ()


def test_a_closed_connection_leaves_little_time_to_come_back() -> None:
    known = roster.parted(cluster(worker_0=TRAINING), Task("worker", 0), 1.0)
    assert roster.silent(known, 2.0) == ()
    assert roster.silent(known, 3.5) == (Task("worker", 0),)
    back = roster.joined(known, REQUEST, BeatLease(10.0, 3.0))
    assert roster.silent(back, 12.0) == ()


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
    known = Roster()
    for task, happening in happenings:
        if happening == "join":
            known = roster.joined(known, replace(REQUEST, task=str(task)), LEASE)
            beat = SERVING if serves.get(task, True) else TRAINING
            known = roster.heard(known, task, beat, 0.0)
        elif task in known.members and happening == "end":
            known = ended(known, str(task))
        elif task in known.members and happening == "lose":
            known = roster.lost(known, task)
        elif task in roster.next_to_release(known, outcome):
            known = roster.released(known, task)
        due = roster.next_to_release(known, outcome)
        live = {member.task for member in known.live}
        assert set(due) <= live
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
    known = Roster()
    for task, serving in serves.items():
        known = roster.joined(known, replace(REQUEST, task=str(task)), LEASE)
        known = roster.heard(known, task, SERVING if serving else TRAINING, 0.0)
    for _ in range(3):
        for task in roster.next_to_release(known, outcome):
            known = roster.heard(roster.released(known, task), task, EndReport(outcome, 75), 1.0)
    assert known.live == ()
