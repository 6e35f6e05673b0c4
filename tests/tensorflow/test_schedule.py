"""How many closures may be under way, by what workers get done."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
import tensorflow as tf

from pitstop.tensorflow.schedule import Backlog, _workers_of


class Remote:
    """Where a result will be."""


def never() -> bool:
    return False


def filled(backlog: Backlog, count: int) -> list[Remote]:
    remotes = [Remote() for _ in range(count)]
    for remote in remotes:
        backlog.scheduled(remote)
    return remotes


def is_held(backlog: Backlog, seconds: float = 0.2) -> bool:
    """Whether one more has to wait for so long."""
    until = time.monotonic() + seconds
    backlog.wait(never, lambda: time.monotonic() >= until)
    return time.monotonic() >= until


def test_each_worker_has_its_next_closure() -> None:
    backlog = Backlog()
    backlog.begin(3)
    filled(backlog, 5)
    assert not is_held(backlog)
    filled(backlog, 1)
    assert is_held(backlog)


def test_an_end_in_another_thread_makes_room() -> None:
    backlog = Backlog()
    first, _ = filled(backlog, 2)
    timer = threading.Timer(0.1, backlog.ended, [first])
    timer.start()
    assert not is_held(backlog, 5.0)
    timer.join()


def test_fast_closures_may_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    backlog, now = Backlog(), 100.0
    monkeypatch.setattr("pitstop.tensorflow.schedule.time.monotonic", lambda: now)
    for remote in filled(backlog, 300):
        now += 0.01
        backlog.ended(remote)
    monkeypatch.undo()
    filled(backlog, 190)
    assert not is_held(backlog)
    filled(backlog, 20)
    assert is_held(backlog)


def test_what_ended_before_it_was_known_takes_no_room() -> None:
    backlog = Backlog()
    remotes = [Remote(), Remote(), Remote()]
    for remote in remotes:
        backlog.ended(remote)
        backlog.scheduled(remote)
    assert not is_held(backlog)


def test_tensorflow_is_asked_whether_all_have_ended_or_failed() -> None:
    backlog = Backlog()
    filled(backlog, 2)
    backlog.wait(lambda: True, never)
    assert not is_held(backlog)
    filled(backlog, 2)

    def fails() -> bool:
        raise ValueError("of a closure")

    with pytest.raises(ValueError, match="of a closure"):
        backlog.wait(fails, never)


def test_a_backlog_counts_all_workers_of_a_strategy_that_hides_its_cluster() -> None:
    """As `tf.distribute.ParameterServerStrategy` does: its public `cluster_resolver` is None."""
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1", "c:1"], "ps": ["d:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster)
    strategy = SimpleNamespace(cluster_resolver=None, _cluster_resolver=resolver)
    assert _workers_of(SimpleNamespace(strategy=strategy)) == 3
