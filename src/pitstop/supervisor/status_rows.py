"""A status in words: as rows about one run, and as cells in a table of runs."""

from pitstop.durations import duration
from pitstop.events import JsonValue
from pitstop.supervisor.records.notices import level_text
from pitstop.supervisor.status import Status


def describe(status: Status) -> list[tuple[str, str]]:
    """The name and the text of each row; none where nothing is known."""
    share, best_epoch = status.input_share, status.best_epoch
    best = "" if best_epoch is None else f"{_best(status)} in epoch {best_epoch + 1}"
    rows = [
        ("run", status.run_dir),
        ("state", _state(status)),
        ("step", _position(status)),
        ("rate", rate_text(status)),
        ("progress", _progress(status)),
        ("loss", _loss(status)),
        ("best", best),
        ("saved", _saved(status)),
        ("resume", level_text(status.level, status.level_reason)),
        ("memory", _memory(status)),
        ("input", "" if share is None else f"{share:.0%} of step time spent waiting for it"),
        ("forecast", "; ".join(status.forecasts)),
        ("attempt", _attempt(status)),
        *_cluster(status),
    ]
    return [(name, text) for name, text in rows if text]


def cells(status: Status) -> dict[str, str]:
    """One run in a table of runs, by the names of the columns; empty where nothing is known."""
    total = total_steps(status)
    return {
        "state": status.state,
        "step": _count(status.step) + (f" of {total:,}" if total else ""),
        "epoch": "" if status.epoch is None else f"{status.epoch + 1}",
        "time left": "" if status.eta_seconds is None else duration(status.eta_seconds),
        "loss": _loss(status),
        "best": _best(status),
        "saved": _count(status.checkpoint_step),
        "attempt": _count(status.attempt or None),
    }


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def total_steps(status: Status) -> int | None:
    """How many steps there are in all, where one `fit` is all; None where that is not known."""
    if not status.epochs or not status.steps_per_epoch or status.epoch is None:
        return None
    done = status.epoch * status.steps_per_epoch + (status.step_in_epoch or 0)
    return status.epochs * status.steps_per_epoch if done == status.step else None


def _cluster(status: Status) -> list[tuple[str, str]]:
    rows = [row for row in status.members if isinstance(row, dict)]
    leader = status.leader or next((str(row["task"]) for row in rows), "")
    return [("cluster", f"led by {leader}" if leader else ""), *(("", _task(row)) for row in rows)]


def _task(row: dict[str, JsonValue]) -> str:
    step = f"step {row['step']}" if row["step"] else ""  # 0 also of a server, which takes none
    details = ", ".join(filter(None, (f"{row['phase']}".replace("_", " "), step, f"{row['host']}")))
    text = f"{row['task']}: {row['state']}".replace("_", " ")
    return f"{text} ({details})" if details else text


def _state(status: Status) -> str:
    details = [f"pid {status.pid}" if status.pid else "", status.phase.replace("_", " ")]
    if status.exit_code is not None:
        details.append(f"exit code {status.exit_code}")
    text = ", ".join(detail for detail in details if detail)
    return f"{status.state} ({text})" if text else status.state


def _position(status: Status) -> str:
    place = place_text(status, of=" of ")
    if status.step_in_epoch is not None and ", epoch" in place:
        place += f", step {status.step_in_epoch} of the epoch"
    return replay_text(status) or place


def _progress(status: Status) -> str:
    if status.supervisor_pid is None:
        return ""
    if not status.on_hang:
        return "not watched"
    if status.silent_seconds is None or status.patience_seconds is None:
        return f"watched once training starts (--on-hang {status.on_hang})"
    ago = duration(status.silent_seconds)
    if status.standstill:
        return f"none for {ago}: {status.standstill}"
    longest = duration(status.patience_seconds)
    return f"{ago} ago, a hang after {longest} (--on-hang {status.on_hang})"


def _attempt(status: Status) -> str:
    if not status.attempt:
        return ""
    left = f", {status.restarts_left} of {status.restarts} restarts left" if status.restarts else ""
    back = f", rolled back {status.rollbacks}x" if status.rollbacks else ""
    return f"{status.attempt}{left}{back}"


def _saved(status: Status) -> str:
    if status.checkpoint_step is None:
        return "nothing yet"
    age = status.checkpoint_age_seconds
    parts = [f"step {status.checkpoint_step}"]
    parts.append("" if age is None else f"{duration(age)} ago")
    common = status.common_step
    parts.append("" if common is None else f"step {common} by all members")
    every = status.checkpoint_interval_seconds
    parts.append("" if every is None else f"every {duration(every)}")
    parts.append(f"snapshots in memory were lost {status.losses} times" if status.losses else "")
    return ", ".join(part for part in parts if part)


def _memory(status: Status) -> str:
    own, of_all, snapshots = status.rss_bytes, status.memory_bytes, status.snapshot_memory_bytes
    parts = ["" if own is None else f"{own >> 20} MiB"]
    if of_all is not None and of_all > (own or 0):
        parts.append(f"{of_all >> 20} MiB with its children")
    if snapshots is not None:
        where = " in a file in the run folder" if status.snapshot_backing == "file" else ""
        limit = status.snapshot_limit_bytes
        allowed = "half of the free memory" if limit is None else f"{limit >> 20} MiB"
        parts.append(f"{snapshots >> 20} MiB for snapshots{where} (limit: {allowed})")
    return ", ".join(part for part in parts if part)


def replay_text(status: Status) -> str:
    if status.batches_to_replay is None:
        return ""
    drawn = f"{status.replayed_batches} of {status.batches_to_replay}"
    return f"replaying to step {status.replay_step}: {drawn} batches"


def place_text(status: Status, of: str) -> str:
    """`12, epoch 2 of 5`, or with another `of`; empty where nothing is known."""
    if status.step is None or status.epoch is None or status.epochs == 1:
        return "" if status.step is None else f"{status.step}"
    epochs = f"{of}{status.epochs}" if status.epochs else ""
    return f"{status.step}, epoch {status.epoch + 1}{epochs}"


def _loss(status: Status) -> str:
    return f"{status.loss:.6g}" if isinstance(status.loss, float) else status.loss or ""


def _best(status: Status) -> str:
    value = status.best_value
    return "" if value is None else f"{status.best_metric} {value:.6g}"


def rate_text(status: Status) -> str:
    if status.rate is None:
        return ""
    left = "" if status.eta_seconds is None else f", {duration(status.eta_seconds)} left"
    return f"{status.rate:.3g} steps/s{left}"
