"""Standstills and clusters (53 and 54)."""

from __future__ import annotations

import sys
from dataclasses import replace

from benchmarks.faults.ground import around, disk, words
from benchmarks.faults.run import SCRIPTS
from benchmarks.faults.scenario import Scenario, impossible, scenario, watched
from benchmarks.faults.strikes import (
    Strike,
    cuts_the_network,
    freezes_the_disk,
    pauses,
    signals_ready,
    suspends,
)

_FOR_EVER = float("inf")
_ALONE = around("unshare", "--net")
_PEER = f"ip link set lo up; {sys.executable} {SCRIPTS}/peers.py 1 > peer.log 2>&1 & exec"
_CLUSTER = around("unshare", "--net", "sh", "-c", f'{_PEER} "$@"', "sh")


def _peers(name: str, strike: Strike) -> Scenario:
    found = scenario(name, "worker_lost", among="cluster", grounds=(_CLUSTER,), strike=strike)
    return replace(found, script="peers.py", arguments=("0",), patience_seconds=150.0)


HANGS: tuple[Scenario, ...] = (
    watched(
        scenario(
            "53a-deadlock",
            "hang_or_stall",
            fault="deadlock@batch:27",
            among="standstill",
            says="deadlock",
        )
    ),
    watched(
        scenario(
            "53b-interpreter-held",
            "hang_or_stall",
            args="--model text",
            fault="interpreter@batch:27",
            among="standstill",
            says="hold_interpreter",
        )
    ),
    watched(
        scenario(
            "53c-suspended-and-given-up",
            "preempted_or_terminated",
            "hang_or_stall",
            fault="wait@batch:27",
            among="standstill",
            says="SIGSTOP",
            strike=suspends(20.0),
        )
    ),
    watched(
        scenario(
            "53d-input-stands-still",
            "hang_or_stall",
            args="--input generator --steps 20",
            data="stalls",
            among="standstill",
            says="input",
        )
    ),
    # The disk is thawed in the end, and a plain training goes on.
    replace(
        watched(
            scenario(
                "53e-disk-stands-still",
                "hang_or_stall",
                args="--callbacks keras",
                fault="wait@batch:15",
                among="standstill",
                says="disk|writ|sav",
                grounds=(disk(16), words(FAULT_TARGET="{folder}/disk/model")),
                strike=freezes_the_disk(25),
            )
        ),
        plain=False,
    ),
    _peers("54a-peer-killed", signals_ready("KILL")),
    _peers("54b-peer-frozen", pauses(_FOR_EVER)),
    _peers("54c-network-cut", cuts_the_network),
    scenario(
        "54d-no-name-server",
        "network_or_download_failure",
        args="--decoys memory",
        fault="download@import",
        among="cluster",
        grounds=(_ALONE,),
    ),
    scenario(
        "54e-upload-refused",
        "network_or_download_failure",
        args="--callbacks uploader",
        among="cluster",
        says="refused",
    ),
    impossible("55-gpu-memory", "no GPU on this machine"),
    impossible("56-gpu-falls-off-the-bus", "no GPU on this machine"),
    impossible("57-cudnn-does-not-fit", "no GPU on this machine"),
)
