"""The fault bench: trainings to which something happens, and who can tell what it was.

Each scenario is really injected under `pitstop run` and again without it; `pitstop why` answers
for the first, and `pitstop diagnose`, the exit code, the last exception and a list of usual words
for the second.  Needs root for cgroups, small disks and namespaces.

    python -m benchmarks.faults [--only 13 48a ...] [--jobs N] [--json FILE] [--record FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.faults.baselines import BASELINES
from benchmarks.faults.catalog import FAST, SCENARIOS
from benchmarks.faults.ground import CannotInject
from benchmarks.faults.judge import Verdict, judge, score, words_of
from benchmarks.faults.record import record
from benchmarks.faults.run import Mode, Run, run
from benchmarks.faults.scenario import Scenario
from benchmarks.faults.table import mistakes, table

PITSTOP = "`pitstop run`, `pitstop why`"
DIAGNOSE = "`pitstop diagnose` of the log"


@dataclass(frozen=True)
class Outcome:
    """Both runs of a scenario, or why there is none."""

    scenario: Scenario
    runs: tuple[Run, ...] = ()
    not_run: str = ""


def inject(scenario: Scenario, modes: Iterable[Mode], target: Path | None) -> Outcome:
    """Runs a scenario in each mode; keeps what the supervised one left if there is a target."""
    if scenario.not_run:
        return Outcome(scenario, not_run=scenario.not_run)
    runs = []
    for mode in modes:
        if mode == "plain" and not scenario.plain:
            continue
        with tempfile.TemporaryDirectory(prefix="fault-") as name:
            try:
                runs.append(run(scenario, mode, Path(name)))
            except CannotInject as reason:
                return Outcome(scenario, not_run=str(reason))
            if target and mode == "supervised":
                record(Path(name) / "run", target / scenario.name)
                (target / scenario.name / "cause.txt").write_text("\n".join(scenario.accepts))
    _tell(scenario, runs)
    return Outcome(scenario, tuple(runs))


def _tell(scenario: Scenario, runs: list[Run]) -> None:
    for each in runs:
        verdict = judge(scenario, frozenset({each.report["cause"]}), words_of(each.report))
        line = f"{scenario.name:34} {each.mode:10} {each.seconds:5.1f} s  exit {each.exit_code}"
        is_ours = each.left_behind and each.mode == "supervised"  # nobody ends what else stays
        left = f"  LEFT BEHIND {each.left_behind}" if is_ours else ""
        said = f"{each.report['cause']}: {each.report['summary']}"
        print(f"{line}  {verdict.kind}{left}\n    {said}", flush=True)


def verdicts(outcomes: Iterable[Outcome]) -> dict[str, list[Verdict]]:
    """What each contender's answers are worth."""
    found: dict[str, list[Verdict]] = {name: [] for name in (PITSTOP, DIAGNOSE, *BASELINES)}
    for outcome in outcomes:
        for each in outcome.runs:
            answer = frozenset({each.report["cause"]})
            name = PITSTOP if each.mode == "supervised" else DIAGNOSE
            found[name].append(judge(outcome.scenario, answer, words_of(each.report)))
            if each.mode == "plain":
                for name, baseline in BASELINES.items():
                    # Who names the right cause shows the whole log as well.
                    found[name].append(judge(outcome.scenario, baseline(each), each.log))
    return {name: given for name, given in found.items() if given}


def show(outcomes: list[Outcome], found: Mapping[str, list[Verdict]]) -> None:
    """Prints the table, and all that went wrong."""
    healthy = sum(each.scenario.is_healthy and bool(each.runs) for each in outcomes)
    ran = sum(bool(each.runs) for each in outcomes)
    print(f"\n{ran} scenarios, {healthy} of them healthy\n")
    print(table({name: score(given) for name, given in found.items()}))
    for name in (PITSTOP, DIAGNOSE):
        print(f"\n{name}:", *(mistakes(found.get(name, [])) or ["all right"]), sep="\n- ")
    absent = [f"{each.scenario.name}: {each.not_run}" for each in outcomes if each.not_run]
    print("\nNot run:", *(absent or ["none"]), sep="\n- ")


def save(path: Path, outcomes: list[Outcome], found: Mapping[str, list[Verdict]]) -> None:
    """Writes scores, verdicts and the runs themselves."""
    data = {
        "scores": {name: asdict(score(given)) for name, given in found.items()},
        "verdicts": {name: [asdict(each) for each in given] for name, given in found.items()},
        "runs": [asdict(each) for outcome in outcomes for each in outcome.runs],
        "not_run": {each.scenario.name: each.not_run for each in outcomes if each.not_run},
    }
    path.write_text(json.dumps(data, indent=1))


def chosen(only: list[str], *, fast: bool) -> list[Scenario]:
    """The scenarios whose names begin so; all where nothing was chosen."""
    wanted = [each for each in SCENARIOS if each.name in FAST or not fast]
    return [each for each in wanted if not only or each.name.startswith(tuple(only))]


def main() -> int:
    """Runs the bench; 1 where Pitstop made a mistake."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    parser.add_argument("--fast", action="store_true", help="only the fast cut")
    parser.add_argument("--modes", nargs="*", default=["supervised", "plain"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    wanted = chosen(options.only, fast=options.fast)
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda each: inject(each, options.modes, options.record), wanted):
            outcomes.append(outcome)
            if options.json:
                save(options.json, outcomes, verdicts(outcomes))
    found = verdicts(outcomes)
    show(outcomes, found)
    return int(bool(mistakes(found.get(PITSTOP, []))))


if __name__ == "__main__":
    sys.exit(main())
