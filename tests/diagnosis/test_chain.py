"""What led to an end is told in its order, and nothing that did not."""

from __future__ import annotations

from pitstop.diagnosis import Evidence, diagnose
from pitstop.events import (
    CheckpointFailed,
    ExhaustionForecast,
    NonFiniteLocated,
    NonFiniteLoss,
    Notice,
    StopDeadlinePassed,
    ThreadFailed,
    TrainingStalled,
    WorkerDied,
)
from tests.diagnosis.attempts import (
    FINISHED,
    OOM_LINES,
    STOPPED_CLEANLY,
    TRAINER_PID,
    completed,
    exited,
    failed,
    killed,
    raised,
    stop_by_signal,
    stopped,
)

WORKER = 5150
PRESSURE = Notice("pressure", "Short of memory (90 MB left); what was trained is saved, and ...")
STALLED = TrainingStalled(30.0, "train", 47, "worker", "it waits for a data worker", "kill")
WORKER_OOM = [line.replace(str(TRAINER_PID), str(WORKER)) for line in OOM_LINES]


def texts(evidence: Evidence) -> list[str]:
    return [link.text for link in diagnose(evidence).chain]


LEAK = ExhaustionForecast("memory", "cgroup", 5e8, 5e8, 2e6, 280.0, 94.0, 21, growing="python")


def test_a_leak_then_pressure_then_a_kill() -> None:
    found = texts(failed(LEAK, PRESSURE, killed(kernel_lines=OOM_LINES, oom_kills=1)))
    assert found[:2] == [
        (
            "the use of memory grew by 2.0 MB/s (as did Python's objects) at step 21: exhausted "
            "in about 5 minutes"
        ),
        "the run was short of memory (90 MB left)",
    ]


def test_a_disk_that_fills_is_no_cause_of_a_kill_for_memory() -> None:
    disk = ExhaustionForecast("disk", "/", 5e8, 5e8, 2e6, 280.0, 94.0, 21)
    found = texts(failed(disk, PRESSURE, killed(kernel_lines=OOM_LINES, oom_kills=1)))
    assert not any("disk" in text for text in found)


def test_pressure_and_then_the_kernels_kill() -> None:
    found = texts(failed(PRESSURE, killed(kernel_lines=OOM_LINES, oom_kills=1)))
    assert found == [
        "the run was short of memory (90 MB left)",
        f"the kernel killed the trainer (process {TRAINER_PID}) for memory",
        "the attempt ended by SIGKILL; step 40 is saved",
    ]


def test_a_data_worker_that_the_kernel_kills_leaves_a_standstill() -> None:
    evidence = failed(
        WorkerDied(WORKER, "SIGKILL"), STALLED, killed(kernel_lines=WORKER_OOM, oom_kills=1)
    )
    assert texts(evidence) == [
        f"the kernel killed a data worker (process {WORKER}) for memory",
        f"data worker {WORKER} was killed by SIGKILL",
        "the training hung at step 47, it waits for a data worker",
        "Pitstop ended the attempt because of that; step 40 is saved",
    ]


def test_a_neighbour_that_the_kernel_kills_is_no_link() -> None:
    evidence = failed(STALLED, killed("SIGTERM", kernel_lines=WORKER_OOM, oom_kills=1))
    assert not any("kernel" in text for text in texts(evidence))


def test_a_thread_that_failed_leaves_a_standstill() -> None:
    thread = ThreadFailed("reader", "ValueError", "bad row", "/app/train.py", 12, "read")
    found = texts(failed(thread, STALLED, killed()))
    assert found[0] == "thread reader ended with ValueError at /app/train.py:12 in read()"


def test_a_full_disk_and_then_the_callback() -> None:
    full = "[Errno 28] No space left on device"
    evidence = failed(
        CheckpointFailed(45, full, ""),
        raised("OSError", full, callback="ModelCheckpoint"),
        exited(1),
    )
    assert texts(evidence) == [
        f"saving step 45 failed: {full}",
        f"OSError in callback ModelCheckpoint: {full}",
        "the attempt ended with exit code 1; step 40 is saved",
    ]


def test_losses_that_grew_and_who_ended_it() -> None:
    bad = NonFiniteLoss(12, 0, 12, "loss", "nan", 9e9, [0.7, 31.0, 2e4, 9e9])
    evidence = failed(bad, raised("RuntimeError", "NaN or Inf loss encountered"), exited(1))
    assert texts(evidence)[0] == (
        "the loss became nan at step 12, after 0.7 -> 31 -> 2e+04 -> 9e+09"
    )


def test_where_it_came_from_stands_before_the_loss_that_it_spoiled() -> None:
    bad = NonFiniteLoss(12, 0, 12, "loss", "nan", None)
    evidence = completed(bad, *FINISHED, NonFiniteLocated(12, "input", "x"))
    assert texts(evidence)[:2] == [
        "step 12, run again: the batch itself contains bad values (x)",
        "the loss became nan at step 12",
    ]


def test_a_stop_that_came_too_late() -> None:
    late = StopDeadlinePassed(30.0, "train", "no step ended")
    found = texts(stopped(stop_by_signal("SIGTERM"), late, exited(75)))
    assert found == [
        "stop requested: SIGTERM",
        "no step ended within 30 s (no step ended)",
        "the attempt stopped; step 40 is saved",
    ]


def test_the_same_thing_twice_is_one_link() -> None:
    twice = (stop_by_signal("SIGINT"), stop_by_signal("SIGINT"))
    assert not texts(stopped(*twice, *STOPPED_CLEANLY))


def test_one_cause_is_no_chain() -> None:
    assert not texts(failed(killed()))
    assert not texts(completed(*FINISHED))
    assert not texts(stopped(stop_by_signal("SIGTERM"), *STOPPED_CLEANLY))


def test_what_is_no_part_of_the_cause_is_no_link() -> None:
    evidence = failed(PRESSURE, WorkerDied(WORKER, "SIGKILL"), raised("KeyError", "x"), exited(1))
    assert diagnose(evidence).chain == ()


def test_a_chain_is_told_in_json_with_its_times() -> None:
    told = diagnose(failed(PRESSURE, killed(kernel_lines=OOM_LINES, oom_kills=1))).to_json()
    assert told["chain"][0] == {
        "text": "the run was short of memory (90 MB left)",
        "source": "journal",
        "time_seconds": 1004.0,
    }
