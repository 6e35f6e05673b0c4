"""Random interruptions, many of them: `make torture` runs these and prints how many."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.chain import BY_COST, Chain, interrupt_everywhere
from tests.integration.conftest import CYCLES, Baseline

STEPS = 20
EPOCHS = 4
INTERRUPTIONS = 12
CONFIGURATIONS = {
    "numpy": (("--input", "numpy", "--validation"), "exact"),
    "tfdata": (("--input", "tfdata", "--validation"), "exact"),
    "tfdata-shuffle": (("--input", "tfdata-shuffle"), "exact"),
    "tfdata-repeat": (("--input", "tfdata-repeat", "--validation"), "exact"),
    "jit": (("--input", "numpy", "--jit"), "exact"),
    "generator": (
        (
            "--input",
            "generator",
        ),
        "exact_by_replay",
    ),
    "sequence": (("--input", "sequence", "--validation"), "exact_by_replay"),
}

INPUTS = {
    "class-weights": Chain(
        ("--input", "weighted", "--epochs", "2"),
        "kill@batch:29",
    ),
    "sparse": Chain(
        ("--input", "sparse", "--epochs", "2"),
        "kill@batch:7 stop@batch:33",
    ),
    "grain-loader": Chain(
        ("--input", "grain-loader", "--epochs", "2"),
        "kill@batch:7 stop@batch:33",
        level="exact_by_replay",
    ),
    "own-random": Chain(
        ("--input", "numpy", "--own-random"),
        "kill@batch:3 stop@batch:20 kill@batch:45",
    ),
    "own-random-in-tf-data": Chain(
        ("--input", "own-from-generator", "--own-random"),
        "stop@batch:5 kill@batch:33 stop@batch:40",
        level="exact_by_replay",
    ),
    "tfdata-shuffle-replayed": Chain(
        ("--input", "tfdata-shuffle", "--validation"),
        "kill@batch:5 stop@batch:20 kill@batch:47",
        options=("--every", "1steps", "--input", "replay"),
        level="exact_by_replay",
    ),
    "numpy-by-cost": Chain(
        ("--input", "numpy", "--validation", "--epochs", "6"),
        "kill@batch:40 kill@test:22 stop@batch:97 kill@batch:118",
        options=BY_COST,
        paced=True,
    ),
    "tfdata": Chain(
        ("--input", "tfdata", "--callbacks"),
        "stop@batch:7 kill@batch:40 stop@batch:59",
    ),
    "tfdata-repeat": Chain(
        ("--input", "tfdata-repeat", "--validation", "--callbacks"),
        "kill@batch:20 stop@batch:40",
    ),
    "two-fits-of-one-dataset": Chain(
        ("--input", "tfdata-shuffle", "--epochs", "1", "--fits", "3"),
        "stop@batch:18 kill@fit:1 kill@batch:40",
    ),
    "two-fits-of-one-sequence": Chain(
        ("--input", "sequence", "--epochs", "1", "--fits", "3"),
        "kill@fit:1 stop@batch:30 kill@fit:2",
        level="exact_by_replay",
    ),
    "pandas": Chain(
        ("--input", "frames", "--epochs", "2"),
        "stop@batch:7 kill@batch:33",
    ),
    "grain-dataset": Chain(
        ("--input", "grain-dataset", "--epochs", "2"),
        "stop@batch:7 kill@batch:33",
        level="exact_by_replay",
    ),
    "py-function": Chain(
        ("--input", "py-function", "--callbacks"),
        "kill@batch:6 stop@batch:35",
        level="exact_by_replay",
    ),
}  # fmt: skip
"""Inputs and scripts that share their code with one of the exactness tests, or with a cell of the
matrix."""


def random_points(seed: int) -> str:
    """Kills and stops at distinct batches of the run, in their order."""
    generator = random.Random(seed)
    batches = sorted(generator.sample(range(1, STEPS * EPOCHS), INTERRUPTIONS))
    return " ".join(f"{generator.choice(('kill', 'stop'))}@batch:{at}" for at in batches)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_random_interruptions_change_no_bit(
    name: str,
    seed: int,
    tmp_path: Path,
    baseline: Baseline,
    record_property: Callable[[str, object], None],
) -> None:
    arguments, level = CONFIGURATIONS[name]
    chain = Chain((*arguments, "--epochs", str(EPOCHS)), random_points(seed), level=level)
    interrupt_everywhere(chain, tmp_path, baseline(chain.arguments))
    record_property(CYCLES, INTERRUPTIONS)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", INPUTS)
def test_further_inputs_end_with_the_same_bits(
    name: str,
    tmp_path: Path,
    baseline: Baseline,
    record_property: Callable[[str, object], None],
) -> None:
    chain = INPUTS[name]
    interrupt_everywhere(chain, tmp_path, baseline(chain.arguments))
    record_property(CYCLES, len(chain.parsed()))
