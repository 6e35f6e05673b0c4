"""How soon thousands of simulated members agree on a stop, and on the state to begin from.

    python -m benchmarks.gang_simulation

Messages take 50 ms at most, in any order; one in twenty is lost; steps take 10 ms.  The leader is
busy for as long as its answers really take on this machine; what connections cost is not in it.
"""

from __future__ import annotations

import argparse
import statistics

from tests.cluster.gang_simulation import Simulation
from tests.cluster.resume_simulation import ResumeSimulation
from tests.cluster.simulated_network import Conditions

TIMES = ("agreed_seconds", "stopped_seconds", "busy_seconds")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    stop(options.members, options.rounds)
    print()
    begin(options.members, options.rounds)


def stop(members: int, rounds: int) -> None:
    """Prints a row for members that end each step together, and one for others."""
    print("| members, steps | agreed, s | all stopped, s | leader busy, s | messages | rounds |")
    print("|---|---|---|---|---|---|")
    for lockstep in (True, False):
        played = []
        for seed in range(rounds):
            conditions = Conditions(members, seed, 0.05, 0.05, lockstep, charged=True)
            simulation = Simulation(conditions)
            step = simulation.run()
            if simulation.stopped() != {step}:
                raise SystemExit(f"not all members stopped at one step (seed {seed})")
            played.append(simulation)
        medians = [statistics.median(getattr(each, of) for each in played) for of in TIMES]
        words = " | ".join(f"{median:.2f}" for median in medians)
        sent = max(each.sent_messages for each in played)
        how = "together" if lockstep else "independent"
        most = max(each.rounds for each in played)
        print(f"| {members:,}, {how} | {words} | {sent:,} | {most} |", flush=True)


def begin(members: int, rounds: int) -> None:
    """Prints a row for a network that loses nothing, and one for another."""
    print("| members, lost messages | all begun, s | leader busy, s | messages |")
    print("|---|---|---|---|")
    for loss in (0.0, 0.05):
        played = []
        for seed in range(rounds):
            simulation = ResumeSimulation(Conditions(members, seed, loss, 0.05, charged=True))
            simulation.run()
            if simulation.all_begun_seconds is None:
                raise SystemExit(f"not all members began together (seed {seed})")
            played.append(simulation)
        begun = statistics.median(each.all_begun_seconds or 0.0 for each in played)
        busy = statistics.median(each.busy_seconds for each in played)
        sent = max(each.sent_messages for each in played)
        print(f"| {members:,}, {loss:.0%} | {begun:.2f} | {busy:.2f} | {sent:,} |", flush=True)


if __name__ == "__main__":
    main()
