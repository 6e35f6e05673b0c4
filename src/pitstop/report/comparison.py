"""A comparison of two runs, for a terminal and for programs."""

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from pitstop.comparison import difference
from pitstop.events import JsonValue
from pitstop.report.terminal import PlainText, grid, listed

_MOST_LISTED = 8
_COVERS = (
    "Compared bit for bit: the loss and the metrics of every step, all variables and the random"
    " and input state at the common checkpoints."
)


def to_json(found: difference.Comparison) -> dict[str, JsonValue]:
    """The comparison as one object; it may hold numbers that JSON lacks, see `json_text`."""
    return {"same": found.same, "lengths_differ": found.lengths_differ, **asdict(found)}


def show(found: difference.Comparison, console: Console) -> None:
    console.print(PlainText(Group(*_parts(found))))


def first_difference(found: difference.Comparison) -> str:
    if found.step is not None:
        step = found.step
        what = "the loss differs" if step.loss_differs else "metrics differ, but the loss does not"
        return f"at step {step.step} (epoch {step.epoch + 1}) {what}"
    if found.checkpoint is not None and found.checkpoint.decisive:
        count = len(found.checkpoint.tensors)
        what = f"{count} variables" if count else ", ".join(found.checkpoint.facts)
        return f"at the checkpoint of step {found.checkpoint.place.step}: {what}"
    if found.lengths_differ:
        return f"{found.a.last_step} steps in A, {found.b.last_step} in B"
    return ""


def _parts(found: difference.Comparison) -> Iterator[RenderableType]:
    yield Text.assemble(("A  ", "bold"), _side_text(found.a))
    yield Text.assemble(("B  ", "bold"), _side_text(found.b), "\n")
    told = f"The runs differ: {first_difference(found)}."
    if found.same:
        told = "The runs are identical, bit for bit, in all common steps."
    yield Text(told, "bold green" if found.same else "bold red")
    if found.step is not None:
        rows = grid()
        for line in _step_details(found.step):
            rows.add_row("", Text(line))
        yield Padding(rows, (0, 0, 0, 1))
    if found.checkpoint is not None:
        title = f"Checkpoint of step {found.checkpoint.place.step}"
        yield from listed(title, _checkpoint_details(found.checkpoint))
    yield from listed("Computed twice with different results", _disagreement_lines(found))
    reasons = [f"{each.text} {each.advice}" for each in found.reasons]
    unknown = [] if found.same else ["no known reason matches"]
    yield from listed("Likely reason", reasons or unknown)
    yield from listed("Covered", (*_coverage_lines(found.coverage), _COVERS))


def _side_text(side: difference.ComparedSide) -> str:
    state = "trained to the end" if side.completed else "not finished"
    count = len(side.resumes)
    resumed = f", resumed {'once' if count == 1 else f'{count} times'}" if count else ""
    return f"{side.name}: {side.last_step} steps, {state}{resumed}"


def _step_details(step: difference.StepDifference) -> Iterator[str]:
    if step.loss_differs:
        apart = f", {step.ulps.count} {step.ulps.format} ULP apart" if step.ulps else ""
        yield f"loss {step.loss_a!r} in A, {step.loss_b!r} in B{apart}"
    agreed = f"step {step.agreed_step} agrees" if step.agreed_step else "from the first step"
    yield f"{step.differing_steps} of the compared steps differ; {agreed}"


def _checkpoint_details(checkpoint: difference.CheckpointDifference) -> Iterator[str]:
    yield from (_tensor_text(each) for each in checkpoint.tensors[:_MOST_LISTED])
    left = len(checkpoint.tensors) - _MOST_LISTED
    if left > 0:
        yield f"and {left} more variables"
    yield from (f"{name} differs" for name in checkpoint.facts)
    if checkpoint.hints:
        names = ", ".join(checkpoint.hints[:_MOST_LISTED])
        yield f"may differ even between identical runs: {names}"


def _tensor_text(tensor: difference.TensorDifference) -> str:
    name = tensor_label(tensor.name)
    if tensor.differing is None:
        return f"{name}: {tensor.what}"
    largest = tensor.max_abs_difference
    most = "" if largest is None else f", by {largest:.3g} at most"
    return f"{name}: {tensor.differing} of {tensor.elements} values differ{most}"


def tensor_label(name: str) -> str:
    return name.split("/", 2)[-1]


def _disagreement_lines(found: difference.Comparison) -> Iterator[str]:
    for side in (found.a, found.b):
        for each in side.disagreements[:1]:
            count = len(side.disagreements)
            losses = repr(each.first.loss), repr(each.again.loss)
            how = f"{losses[0]}, then {losses[1]}"
            if losses[0] == losses[1]:
                how = f"{losses[0]} both times, but with different bits or metrics"
            yield (
                f"{side.name}: {count} of {side.recomputed_steps} steps computed again; first: "
                f"step {each.step} (loss {how})"
            )


def _coverage_lines(coverage: difference.Coverage) -> Iterator[str]:
    yield f"{coverage.steps} steps recorded by both"
    if coverage.only_a or coverage.only_b:
        yield f"{coverage.only_a} steps only in A, {coverage.only_b} only in B"
    if coverage.checkpoints:
        steps = ", ".join(str(step) for step in dict.fromkeys(coverage.checkpoints))
        yield f"{coverage.tensors} variables at common checkpoints (step {steps})"
    else:
        yield "no checkpoints of the same step in both: variables were not compared"
    yield from (f"skipped, damaged: {each}" for each in coverage.unreadable)
