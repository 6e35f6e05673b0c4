"""Runs of MLflow, found again by a tag.

Of each metric the values are counted: those that were made again are as many as the run has more
than there were at the cut.
"""

import contextlib
import sys
from collections import deque
from collections.abc import Mapping
from concurrent import futures
from typing import Any

from pitstop.engine.randomness import entropy

_MODULE = "mlflow.tracking._tracking_service.client"
_TAG = "pitstop.run"
_MOST_PENDING = 10_000
_PATIENCE_SECONDS = 0.5

_made: dict[str, dict[str, int]] = {}
"""By run and metric: how many values the script has made, as it stands."""
_there: dict[tuple[str, str], int] = {}  # how many of them the run has
_found: dict[str, bool] = {}  # the runs that this process has begun, and whether they were there
_pending: deque[Any] = deque(maxlen=_MOST_PENDING)


def watch() -> None:
    client = sys.modules[_MODULE].TrackingServiceClient
    create_run, log_batch, log_metric = client.create_run, client.log_batch, client.log_metric

    def found_or_created(
        self: Any,
        experiment_id: str,
        start_time: Any = None,
        tags: Any = None,
        run_name: Any = None,
    ) -> Any:
        tags = {**(tags or {}), _TAG: f"{entropy.bits('mlflow', 128):032x}"}
        found = _of_before(self, experiment_id, tags[_TAG])
        run = found or create_run(self, experiment_id, start_time, tags, run_name)
        _found[run.info.run_id] = found is not None
        return run

    def new_batch(self: Any, run_id: str, metrics: Any = (), *rest: Any, **named: Any) -> Any:
        new = [each for each in metrics if _is_new(self, run_id, each.key)]
        logged = log_batch(self, run_id, new, *rest, **named)
        if logged is not None:
            _pending.append(logged)
        return logged

    def new_metric(self: Any, run_id: str, key: str, *rest: Any, **named: Any) -> Any:
        return log_metric(self, run_id, key, *rest, **named) if _is_new(self, run_id, key) else None

    client.create_run, client.log_batch, client.log_metric = found_or_created, new_batch, new_metric


def _of_before(client: Any, experiment_id: str, name: str) -> Any:
    with contextlib.suppress(Exception):
        for run in client.search_runs([experiment_id], f"tags.`{_TAG}` = '{name}'", max_results=1):
            client.update_run(run.info.run_id, "RUNNING")
            return run
    return None


def _is_new(client: Any, run_id: str, key: str) -> bool:
    found = _found.get(run_id)
    if (run_id, key) not in _there:
        # A run that the script has named itself may have values from before our run, too.
        _there[run_id, key] = 0 if found is False else _values_in(client, run_id, key)
    made = _made.setdefault(run_id, {})
    begins = 0 if found is not None else _there[run_id, key]
    made[key] = made.get(key, begins) + 1
    if made[key] <= _there[run_id, key]:
        return False
    _there[run_id, key] = made[key]
    return True


def _values_in(client: Any, run_id: str, key: str) -> int:
    with contextlib.suppress(Exception):
        return len(client.get_metric_history(run_id, key))
    return 0


def capture() -> dict[str, dict[str, int]]:
    """How many values of each metric were made; a slow server may lack the last after a kill."""
    sent = [future for each in _pending for future in getattr(each, "_operation_futures", ())]
    _pending.clear()
    futures.wait(sent, _PATIENCE_SECONDS)
    return {run_id: dict(made) for run_id, made in _made.items()}


def restore(saved: Mapping[str, dict[str, int]]) -> None:
    for run_id, made in saved.items():
        _made.setdefault(run_id, {}).update(made)
