"""A drill, for a terminal and for programs."""

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pitstop.comparison.difference import Reason
from pitstop.drill import Drill, DrillVerdict, Trial
from pitstop.events import JsonValue
from pitstop.report import comparison
from pitstop.report.terminal import PlainText

_COLUMNS = ("interruption", "resumed at", "lost", "result", "seconds")


def to_json(drill: Drill) -> dict[str, JsonValue]:
    again = drill.repetition
    return {
        "verdict": drill.verdict.value,
        "uninterrupted": drill.uninterrupted,
        "last_step": drill.last_step,
        "seconds": round(drill.seconds, 3),
        "trials": [_trial_json(trial) for trial in drill.trials],
        "repetition": None if again is None else comparison.to_json(again),
    }


def show(drill: Drill, console: Console) -> None:
    parts: list[RenderableType] = [_table(drill), Text(), _verdict(drill)]
    lines = (Text(line) for line in _explanation(drill))
    console.print(PlainText(Group(*parts, *lines)))


def _trial_json(trial: Trial) -> dict[str, JsonValue]:
    found = trial.comparison
    return {
        **asdict(trial.interruption),
        "run": trial.run_dir,
        "resumed_at_step": trial.resumed_at_step,
        "lost_steps": trial.lost_steps,
        "level": trial.level,
        "identical": trial.identical,
        "failure": trial.failure,
        **asdict(trial.aftermath),
        "seconds": round(trial.seconds, 3),
        "comparison": None if found is None else comparison.to_json(found),
    }


def _table(drill: Drill) -> Table:
    table = Table(*_COLUMNS, box=None, padding=(0, 2, 0, 0))
    table.add_row("none", "", "", f"{drill.last_step} steps", f"{drill.seconds:.1f}")
    for trial in drill.trials:
        table.add_row(
            Text(f"{trial.interruption.kind} after step {trial.interruption.step}"),
            str(trial.resumed_at_step),
            str(trial.lost_steps),
            Text(_result(trial), "green" if trial.identical else "red"),
            f"{trial.seconds:.1f}",
        )
    return table


def _result(trial: Trial) -> str:
    if trial.identical:
        return "identical" if trial.resumed_at_step else "identical, started over"
    found = trial.comparison
    if found is None or found.same:
        return trial.failure or "a repeated step had a different result"
    return comparison.first_difference(found)


def _verdict(drill: Drill) -> Text:
    match drill.verdict:
        case DrillVerdict.EXACT:
            count = len(drill.trials)
            return Text(f"Exact: {count} of {count} interrupted runs are identical.", "bold green")
        case DrillVerdict.NOT_REPRODUCIBLE:
            return Text(
                "Not reproducible by itself: two uninterrupted runs of the script differ.",
                "bold yellow",
            )
        case DrillVerdict.NOT_EXACT:
            return Text(
                "Not exact: an interrupted run differs, two uninterrupted ones are equal.",
                "bold red",
            )


def _explanation(drill: Drill) -> Iterator[str]:
    yield from _not_resumed(drill.trials)
    again = drill.repetition
    if again is not None and not again.same:
        yield f"First difference: {comparison.first_difference(again)}."
        yield from _repeated(drill.trials)
        yield from _reasons(again.reasons)
        return
    for trial in (each for each in drill.trials if not each.identical):
        yield f"`pitstop compare {drill.uninterrupted} {trial.run_dir}` shows the details."
        yield from _tensors(trial)
        yield from _reasons(trial.comparison.reasons if trial.comparison else ())


def _not_resumed(trials: tuple[Trial, ...]) -> Iterator[str]:
    over = [trial for trial in trials if not trial.resumed_at_step]
    fresh = sum(not trial.aftermath.saved_step and not trial.failure for trial in over)
    if fresh:
        yield f"{fresh} started over because nothing had been saved; this does not test a resume."
    for trial in (each for each in over if each.aftermath.saved_step):
        done = "was not resumed" if trial.failure else "started over"
        saved = f"although step {trial.aftermath.saved_step} was saved"
        why = trial.aftermath.said or "it gave no reason"
        yield f"{trial.interruption.name} {done}, {saved}: {why}"


def _repeated(trials: tuple[Trial, ...]) -> Iterator[str]:
    compared = [trial.comparison.b for trial in trials if trial.comparison]
    repeated = sum(side.recomputed_steps for side in compared)
    if repeated and not any(side.disagreements for side in compared):
        yield f"All {repeated} steps that were repeated after a kill gave the same results."


def _tensors(trial: Trial) -> Iterator[str]:
    checkpoint = trial.comparison.checkpoint if trial.comparison else None
    if checkpoint is not None and checkpoint.tensors:
        name = comparison.tensor_label(checkpoint.tensors[0].name)
        yield f"  First variable that differs at step {checkpoint.place.step}: {name}."


def _reasons(reasons: tuple[Reason, ...]) -> Iterator[str]:
    for reason in reasons[:1]:
        yield from (f"  Likely reason: {reason.text}", f"  {reason.advice}")
