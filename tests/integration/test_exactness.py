"""Interrupted anywhere and run again, a script ends with the bits of the uninterrupted run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown
from tests.integration.chain import BY_COST, Chain, interrupt_everywhere
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, KerasRun

DECIDING = ("--validation", "--callbacks")

# 20 steps an epoch, 6 batches of validation; three epochs unless said otherwise.
CHAINS = {
    "numpy": Chain(
        ("--input", "numpy", *DECIDING),
        "stop@batch:1 kill@batch:20 stop@test:3 stop@batch:33 kill@epoch:2 stop@batch:60 "
        "kill@test:17",
        options=BY_COST,
    ),
    "tfdata-shuffle": Chain(
        ("--input", "tfdata-shuffle", "--validation"),
        "kill@batch:5 stop@batch:20 kill@test:13",
        options=BY_COST,
        paced=True,
    ),
    "shuffled-validation": Chain(
        ("--input", "tfdata", "--shuffled-validation", "--fits", "2", "--epochs", "2"),
        "stop@batch:33 kill@batch:61 stop@test:19",
    ),
    "validation-steps": Chain(
        ("--input", "numpy", "--shuffled-validation", "--validation-steps", "4"),
        "stop@batch:25 kill@batch:47",
        # Several iterators of one shuffle().repeat(): the same bits here, but nobody promises them.
        level="not_exact",
    ),
    "steps-per-execution": Chain(
        ("--input", "numpy", "--steps-per-execution", "4", "--validation"),
        "kill@batch:8 stop@batch:44 kill@batch:60",
    ),
    "jit": Chain(
        ("--input", "numpy", "--jit", "--callbacks"),
        "stop@batch:1 kill@batch:19",
    ),
    "two-fits": Chain(
        ("--input", "numpy", "--epochs", "2", "--fits", "2", *DECIDING),
        "stop@batch:30 kill@fit:1 kill@batch:62 stop@test:19 kill@epoch:4",
    ),
    "generator": Chain(
        ("--input", "generator", "--callbacks"),
        "stop@batch:13 kill@batch:20",
        level="exact_by_replay",
    ),
    "sequence": Chain(
        ("--input", "sequence", "--validation"),
        "kill@batch:12 stop@test:9 kill@batch:59",
        level="exact_by_replay",
    ),
    "drawn-validation": Chain(
        ("--input", "sequence", "--drawn-validation"),
        "stop@test:3 kill@batch:41 kill@test:15",
        level="exact_by_replay",
    ),
    "sequence-two-workers": Chain(
        ("--input", "sequence-two-workers"),
        "stop@batch:27 kill@batch:41",
        level="exact_by_replay",
    ),
    "own-random-in-a-generator": Chain(
        ("--input", "own-generator", "--own-random"),
        "stop@batch:5 kill@batch:20",
        level="exact_by_replay",
    ),
    "own-random-in-a-sequence": Chain(
        ("--input", "own-sequence", "--own-random", "--fits", "2", "--epochs", "2"),
        "stop@batch:7 kill@batch:35 kill@fit:1 stop@batch:60",
        level="exact_by_replay",
    ),
}  # fmt: skip


# What they have beyond the others is in cells of the matrix too.
_LONG = (
    "numpy",
    "shuffled-validation",
    "validation-steps",
    "steps-per-execution",
    "jit",
    "sequence",
    "sequence-two-workers",
    "own-random-in-a-sequence",
)


def _parameter(name: str) -> object:
    marks = [pytest.mark.fast] if name == "generator" else []
    return pytest.param(name, marks=[*marks, *([pytest.mark.torture] if name in _LONG else [])])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [_parameter(name) for name in CHAINS])
def test_interrupted_run_ends_with_the_same_bits(
    name: str, tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    chain = CHAINS[name]
    interrupt_everywhere(chain, tmp_path, baseline(chain.arguments), forked)


def test_an_input_whose_state_costs_too_much_is_replayed(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    # With next to no budget any state does.
    arguments = ("--input", "tfdata-shuffle", "--epochs", "1")
    options = ("--every", "4steps", "--overhead", "0.0001%")
    run = KerasRun(tmp_path, "train.py", (OUT, *arguments), options, interpreter=forked)
    assert run.attempt("--halt-at-step", "15").returncode == 75
    assert run.attempt().returncode == 0
    levels = [event.level for event in run.events(LevelKnown)]
    assert levels == ["exact", "exact_by_replay", "exact_by_replay"]
    assert_identical(baseline(arguments), tmp_path / OUT)


@pytest.mark.parametrize("action", ["kill", "stop"])
def test_at_least_fifteen_points_of_each_kind_are_tried(action: str) -> None:
    points = [point for chain in CHAINS.values() for point in chain.parsed()]
    assert sum(point.action == action for point in points) >= 15
