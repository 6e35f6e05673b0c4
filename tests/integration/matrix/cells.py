"""The cells of the exactness matrix: which input is trained on in which way, and how it ends."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import cycle, product

ACTIONS = ("stop", "kill")
EXACT, REPLAY, NOT_EXACT = "exact", "exact_by_replay", "not_exact"

INPUTS = {
    "numpy_shuffle": EXACT,
    "class_weights": EXACT,
    "sample_weights": EXACT,
    "validation_split": EXACT,
    "shuffled_validation": EXACT,
    "repeated_validation": NOT_EXACT,
    "tfdata": EXACT,
    "tfdata_shuffle": EXACT,
    "tfdata_shuffle_repeat": EXACT,
    "tfdata_same_shuffle": EXACT,
    "tfdata_interleave": EXACT,
    "tfdata_parallel_map": EXACT,
    "tfdata_cache": EXACT,
    "tfdata_cache_in_file": REPLAY,
    "tfdata_cache_in_new_file": REPLAY,
    "tfdata_from_generator": REPLAY,
    "tfdata_py_function": REPLAY,
    "tfdata_random": EXACT,
    "tfdata_unseeded_random": EXACT,
    "tfdata_hidden_random": NOT_EXACT,
    "tfdata_generator_in_map": REPLAY,
    "tfdata_keras_layer_in_map": REPLAY,
    "tfdata_augmented": REPLAY,
    "tfdata_augmented_without_end": REPLAY,
    "tfdata_keras_layer_in_parallel_map": NOT_EXACT,
    "tfdata_any_order": NOT_EXACT,
    "tfdata_snapshot": REPLAY,
    "tfdata_windows": EXACT,
    "tfdata_sampled": EXACT,
    "tfdata_rejection": EXACT,
    "tfdata_zip": EXACT,
    "tfdata_ragged": EXACT,
    "sequence": REPLAY,
    "sequence_two_workers": REPLAY,
    "sequence_four_workers": REPLAY,
    "sequence_two_processes": REPLAY,
    "sequence_reshuffled": REPLAY,
    "sequence_reshuffled_two_workers": REPLAY,
    "sequence_augmented": REPLAY,
    "sequence_with_own_generator": REPLAY,
    "generator": REPLAY,
    "generator_with_own_stream": REPLAY,
    "generator_of_shared_stream": REPLAY,
}
"""Functions of `scripts/matrix_inputs.py`, and how exact a resume of each says it is."""

KINDS = {
    "sequential": 36,
    "unbuilt": 36,
    "own_train_step": 36,
    "gan": 36,
    "phases": 48,
    "folds": 36,
    "folds_cleared": 36,
    "many_fits": 48,
    "mixed_precision": 36,
    "loss_scaling": 36,
    "ema": 36,
    "swapped_ema": 36,
    "accumulation": 36,
    "schedule": 36,
    "scheduled_by_callback": 36,
    "jit": 36,
    "steps_per_execution": 36,
    "uneven_steps_per_execution": 36,
    "eager": 36,
    "evaluates_between": 48,
    "evaluates_in_callback": 36,
    "noise_layers": 36,
    "recurrent": 36,
    "stateful_recurrent": 36,
    "many_metrics": 36,
    "writes_models": 24,
    "counted_random": 36,
    "hidden_random": 36,
    "own_generator": 36,
    "two_outputs": 36,
    "epochs_of_part": 30,
    "draws_in_callback": 36,
}
"""Functions of `scripts/matrix_kinds.py`, and how many batches each trains on."""

# TensorFlow refuses to read a cache whose writing was interrupted: not in the first epoch.
FIRST_POINTS = {"tfdata_cache_in_file": 13}
HIDDEN_RANDOM_KINDS = frozenset({"hidden_random"})
IN_EVERY_TEST_RUN = frozenset(
    {
        "tfdata_cache_in_new_file-sequential-kill",
        "numpy_shuffle-gan-kill",
        "numpy_shuffle-phases-stop",
    }
)
"""Cells of what no other test trains with; the others are torture."""

PLAIN_INPUT, PLAIN_KIND = "numpy_shuffle", "sequential"
SHARED_STREAM = ("generator_of_shared_stream", "draws_in_callback")
SECOND_INPUTS = ("tfdata_shuffle_repeat", "sequence_reshuffled")


@dataclass(frozen=True)
class Cell:
    """One way to train on one input, interrupted by one action."""

    input: str
    kind: str
    action: str

    @property
    def name(self) -> str:
        """As pytest lists it."""
        return f"{self.input}-{self.kind}-{self.action}"

    @property
    def point(self) -> str:
        """Where it is interrupted: any batch, the same every time."""
        first = FIRST_POINTS.get(self.input, 1)
        place = zlib.crc32(self.name.encode()) % (KINDS[self.kind] - first)
        return f"{self.action}@batch:{first + place}"

    @property
    def level(self) -> str:
        """How exact its resume must say it is."""
        split = self.kind == "epochs_of_part" and self.input.startswith("sequence")
        shared = (self.input, self.kind) == SHARED_STREAM
        inexact = split or shared or self.kind in HIDDEN_RANDOM_KINDS
        return NOT_EXACT if inexact else INPUTS[self.input]


def all_cells() -> list[Cell]:
    """Every input with the plain kind, every kind with two inputs, stopped and killed."""
    pairs = [
        *product(INPUTS, (PLAIN_KIND,)),
        *product((PLAIN_INPUT,), KINDS),
        *zip(cycle(SECOND_INPUTS), KINDS, strict=False),
        SHARED_STREAM,
    ]
    return [Cell(*pair, action) for pair in dict.fromkeys(pairs) for action in ACTIONS]
