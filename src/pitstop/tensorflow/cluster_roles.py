"""Notices what part a process takes in a cluster."""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from pitstop.cluster.spec import ASSEMBLING, REPLICA
from pitstop.engine.hooking import Around, Original, hook
from pitstop.tensorflow.sessions import monitored_sessions, plain_sessions
from pitstop.tensorflow.sessions.session_course import Supervisor

_SERVER = "distribute.Server"
_MULTI_WORKER = (
    "distribute.MultiWorkerMirroredStrategy",
    "distribute.experimental.MultiWorkerMirroredStrategy",
)
_COORDINATOR = "distribute.coordinator.ClusterCoordinator"
_DATA_SERVERS = ("DispatchServer", "WorkerServer")


def watch(supervisor: Supervisor) -> None:
    """Tells `supervisor` of each role (`events.RoleTaken`) just before a process takes it."""
    _hook_at(_SERVER, "__init__", functools.partial(_after, supervisor, "member", _place_of))
    _hook_at(_SERVER, "join", functools.partial(_in_place_of_join, supervisor))
    coordinator = functools.partial(_after, supervisor, "coordinator", _place_of_coordinator)
    _hook_at(_COORDINATOR, "__init__", coordinator)
    for strategy in _MULTI_WORKER:
        _hook_at(strategy, "__init__", functools.partial(_around_strategy, supervisor))
    monitored_sessions.watch(supervisor)
    plain_sessions.watch(supervisor)
    for server in _DATA_SERVERS:
        name = f"data.experimental.service.{server}"
        _hook_at(name, "join", functools.partial(_before, supervisor, "server"))


_Place = tuple[Mapping[str, Any], str]
_Find = Callable[[Any], _Place]


def _hook_at(path: str, method: str, around: Around) -> None:
    owner: Any = tf
    for name in path.split("."):
        owner = getattr(owner, name, None)
    if owner is not None:
        hook(owner, method, around)


def _before(
    supervisor: Supervisor, role: str, original: Original, /, *args: Any, **kwargs: Any
) -> Any:
    supervisor.take(role, {}, "")
    return original(*args, **kwargs)


def _after(
    supervisor: Supervisor, role: str, find: _Find, original: Original, /, *args: Any, **kwargs: Any
) -> None:
    original(*args, **kwargs)
    supervisor.take(role, *_found(find, args[0]))


def _in_place_of_join(supervisor: Supervisor, original: Original, server: Any) -> Any:
    """Ends the process when the training is over: `join` itself never returns."""
    supervisor.take("server", *_found(_place_of, server))
    exit_code = supervisor.serve()
    if exit_code is not None and threading.current_thread() is threading.main_thread():
        supervisor.leave(exit_code)
    return original(server)


def _around_strategy(
    supervisor: Supervisor, original: Original, /, *args: Any, **kwargs: Any
) -> None:
    given = (*args[1:], *kwargs.values())
    resolvers = (each for each in given if hasattr(each, "cluster_spec"))
    _take(supervisor, ASSEMBLING, next(resolvers, None))
    original(*args, **kwargs)
    _take(supervisor, REPLICA, args[0].cluster_resolver)


def _take(supervisor: Supervisor, role: str, resolver: Any) -> None:
    cluster, task = _found(_place_of_resolver, resolver)
    if task:
        supervisor.take(role, cluster, task)


def _found(find: _Find, owner: Any) -> _Place:
    """Nothing if that fails: the script must not notice."""
    try:
        return find(owner)
    except Exception:  # noqa: BLE001 - a class of another version, or of the script's own
        return {}, ""


def _place_of_coordinator(coordinator: Any) -> _Place:
    """TensorFlow connects a coordinator that has not said which task it is as the chief."""
    # Not at the top: it imports more of TensorFlow.
    from pitstop.tensorflow.private import resolver_of  # noqa: PLC0415

    resolver = resolver_of(coordinator.strategy)
    cluster, task = _place_of_resolver(resolver)
    return cluster, task or ("chief 0" if "chief" in cluster else "")


def _place_of_resolver(resolver: Any) -> _Place:
    """All tasks of the cluster, and its own; no task where it is alone, or TensorFlow has none."""
    resolver = resolver or tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec().as_dict()
    kind, index = resolver.task_type, resolver.task_id
    return cluster, f"{kind} {index}" if cluster and kind and index is not None else ""


def _place_of(server: Any) -> _Place:
    known = server.server_def
    jobs = {
        job.name: {str(index): address for index, address in job.tasks.items()}
        for job in known.cluster.job
    }
    return jobs, f"{known.job_name} {known.task_index}"
