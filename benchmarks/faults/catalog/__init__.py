"""All scenarios, in the order of the catalogue."""

from __future__ import annotations

from benchmarks.faults.catalog.data import DATA
from benchmarks.faults.catalog.hangs import HANGS
from benchmarks.faults.catalog.healthy import HEALTHY
from benchmarks.faults.catalog.kills import KILLS
from benchmarks.faults.catalog.native import NATIVE
from benchmarks.faults.catalog.quiet_ends import QUIET_ENDS
from benchmarks.faults.catalog.signals import SIGNALS
from benchmarks.faults.catalog.storage import STORAGE
from benchmarks.faults.catalog.strangers import STRANGERS
from benchmarks.faults.scenario import Scenario

SCENARIOS: tuple[Scenario, ...] = tuple(
    sorted(
        (*QUIET_ENDS, *KILLS, *SIGNALS, *NATIVE, *DATA, *STORAGE, *HANGS, *HEALTHY, *STRANGERS),
        key=lambda scenario: scenario.name,
    )
)

FAST = frozenset(
    {
        "04-callback-stops",
        "11b-os-exit-0",
        "13a-memory-limit",
        "14c-kill-9-in-an-epoch",
        "36a-segfault-in-an-epoch",
        "43a-corrupt-record",
        "48c-disk-full-checkpoint",
        "01f-records",
    }
)
"""Names of those that are run at every test: one of most kinds."""
