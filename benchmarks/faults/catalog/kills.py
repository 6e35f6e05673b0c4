"""Memory, kills, and limits of the process (13 to 25)."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.faults.ground import around, memory_limit, process_limit, words
from benchmarks.faults.scenario import Scenario, scenario, watched
from benchmarks.faults.strikes import (
    Strike,
    neighbour_dies,
    signals_as,
    signals_command,
    signals_ready,
)
from pitstop.diagnosis.finding import CauseId

_POOL = "--input pool --epochs 1"
_EARLYOOM = "/usr/bin/earlyoom"


def _killed(name: str, place: str, args: str = "") -> Scenario:
    return scenario(
        name,
        "killed_from_outside",
        args=args,
        fault=f"wait@{place}",
        among="sigkill",
        strike=signals_ready("KILL"),
    )


def _grown(
    name: str, *accepts: CauseId, strike: Strike, says: str = "", among: str = ""
) -> Scenario:
    return scenario(
        name,
        *accepts,
        fault="leak_and_wait@batch:12",
        among=among,
        says=says,
        grounds=(memory_limit(2000), words(FAULT_MEBIBYTES="900")),
        strike=strike,
    )


KILLS: tuple[Scenario, ...] = (
    scenario(
        "13a-memory-limit",
        "host_oom_killed",
        fault="leak@batch:12",
        among="sigkill",
        grounds=(memory_limit(1300),),
    ),
    replace(
        scenario(
            "13b-memory-limit-in-a-container",
            "host_oom_killed",
            args="--model digits --input pipeline",
            fault="leak@epoch:1",
            among="sigkill",
            grounds=(memory_limit(1300), around("unshare", "--pid", "--fork", "--mount-proc")),
        ),
        # unshare does not tell how its child ended.
        plain=False,
    ),
    _killed("14a-kill-9-in-the-import", "import"),
    _killed("14b-kill-9-while-tracing", "trace", "--model digits"),
    _killed("14c-kill-9-in-an-epoch", "batch:27", "--model text --decoys memory killed"),
    _killed("14d-kill-9-in-the-validation", "test:2", "--validation --input pipeline"),
    _killed("14e-kill-9-in-a-loop", "batch:27", "--loop --input pipeline"),
    scenario(
        "15-processor-time-hard",
        "time_limit",
        fault="burn@batch:12",
        among="sigkill",
        says="processor time",
        grounds=(words(inner="ulimit -t 12"),),
    ),
    watched(
        scenario(
            "16-memory-limit-of-a-data-worker",
            "hang_or_stall",
            "host_oom_killed",
            args=_POOL,
            data="worker_leaks",
            among="dead worker",
            says="memory",
            grounds=(memory_limit(1800),),
        ),
        "20s",
    ),
    scenario(
        "17-neighbour-killed-then-an-exception",
        "callback_error",
        "user_code_error",
        fault="wait_and_raise@batch:12",
        says="KeyError",
        grounds=(memory_limit(1500),),
        strike=neighbour_dies(2000),
    ),
    watched(
        scenario(
            "18a-data-worker-killed",
            "hang_or_stall",
            args=_POOL,
            data="worker_waits",
            among="dead worker",
            says="SIGKILL(?!.*memory)",
            strike=signals_ready("KILL"),
        )
    ),
    watched(
        scenario(
            "18b-data-worker-crashes",
            "hang_or_stall",
            args=f"--model digits {_POOL}",
            data="worker_crashes",
            among="dead worker",
            says="SIGSEGV",
        )
    ),
    _grown(
        "19-leak-but-killed-by-a-user",
        "killed_from_outside",
        strike=signals_ready("KILL"),
        among="sigkill",
    ),
    scenario(
        "20-address-space-numpy",
        "host_alloc_failure",
        fault="large_array@batch:12",
        among="refused",
        grounds=(words(inner="ulimit -v 24000000"),),
    ),
    scenario(
        "21-address-space-tensorflow",
        "host_alloc_failure",
        fault="native_threads@batch:12",
        among="refused",
        says="address space",
        grounds=(words(inner="ulimit -v 9000000"),),
    ),
    scenario(
        "22-too-many-threads",
        "thread_or_process_limit",
        fault="threads@batch:12",
        among="refused",
        grounds=(process_limit(300),),
    ),
    scenario(
        "23-absurd-tensor",
        "host_alloc_failure",
        args="--model digits",
        fault="large_tensor@batch:12",
        among="refused",
    ),
    _grown(
        "24a-earlyoom-ends-the-script",
        "preempted_or_terminated",
        "host_oom_killed",
        strike=signals_as(_EARLYOOM, "TERM", to_ready=True),
        says="SIGTERM|earlyoom",
    ),
    _grown(
        "24b-earlyoom-ends-the-launcher",
        "preempted_or_terminated",
        "host_oom_killed",
        strike=signals_as(_EARLYOOM, "TERM"),
        says="earlyoom",
    ),
    replace(
        scenario(
            "25-supervisor-killed",
            "killed_from_outside",
            fault="wait@batch:27",
            among="sigkill",
            says="Pitstop itself",
            strike=signals_command("KILL"),
        ),
        plain=False,
    ),
)
