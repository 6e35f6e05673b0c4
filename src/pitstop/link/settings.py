"""What the command line decides and the trainer obeys."""

import os
import signal
import sys
from collections.abc import Mapping

from pitstop.record import Frozen

ENV_STACKS = "PITSTOP_STACKS"  # environment variable: the file that stacks are appended to

STACKS_SIGNAL = signal.SIGRTMAX - 5
"""Real-time signals have no meaning of their own; debuggers take the first ones."""

NOT_DIVIDED = "batch_not_divided"
"""The code of the trainer's `Notice` that its steps stay whole, see `Settings.batch_parts`."""

STACKS_FILE = "stacks.txt"
ENV_SOCKET = "PITSTOP_SOCKET"
"""Environment variable: path of the supervisor's socket, for instrumented processes."""

ENV_SPARE = "PITSTOP_SPARE"
"""Environment variable of a spare process, with colons between: its socket's descriptor, `EAGER`
or nothing, the file with what it imports."""
EAGER = "eager"  # it imports also while all processors are busy

ENV_SMALL_BUFFERS = "PITSTOP_SMALL_BUFFERS"
"""Environment variable: pipelines of `tf.data` hold as little as they can."""

ENV_MIXED_PRECISION = "PITSTOP_MIXED_PRECISION"
"""Environment variable: `MIXED_PRECISION` is Keras' default policy."""
MIXED_PRECISION = "mixed_bfloat16"
"""Variables stay in float32, and no loss scale is needed, unlike in float16."""

ENV_COMPANION = "PITSTOP_COMPANION"
"""Environment variable: a socket for a script that would start its own supervisor."""

ENV_ENTROPY = "PITSTOP_ENTROPY"
"""Environment variable: what unseeded random streams begin with, as hex digits.

A new run takes it over where it is set; of a process that has begun with it, the children find
its number after a colon.
"""


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """For a process of ours: exactly our modules, which the script's folder must not shadow."""
    theirs = (ENV_SOCKET, ENV_STACKS)
    kept = {name: value for name, value in environment.items() if name not in theirs}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


class Settings(Frozen):
    overhead: float = 0.01  # share of the training time that Pitstop may cost (0.01 = 1 %)
    every_steps: int = 0  # steps between durable checkpoints, 0 for automatic
    every_seconds: float = 0.0  # seconds between durable checkpoints, 0 for automatic
    snapshot_memory_bytes: int = 0  # most memory the arena may take, 0 for automatic
    input_mode: str = "auto"  # how the position in the input is saved: "native", "replay" or "auto"
    force: bool = False  # continue where a difference would make Pitstop refuse
    deterministic: bool = False
    halt_at_step: int = 0  # stop, saved, at the first boundary from this step on, 0 for never
    die_at_step: int = 0  # SIGKILL the trainer there, 0 for never; a drill does this
    start_from: str = ""  # saved weights that a new run begins with, an absolute path; or empty
    export_to: str = ""  # export the saved state in this format instead of training; empty to train
    export_path: str = ""  # what `export_to` writes, an absolute path
    keep_best: tuple[str, ...] = ()  # rules of `store.best_rule`: ends of epochs that are kept
    saved_metrics: tuple[tuple[int, dict[str, float]], ...] = ()  # step and metrics of checkpoints
    stop_returns: bool = False  # the script continues after a stop of its training
    find_nan_step: int = 0  # run this step layer by layer to find its first bad number; 0 to train
    measure_from: float = 0.0  # share of the script's batch to measure the memory of; 0 to train
    flight_seconds: float = 1.0  # time between two samples of the flight recorder, 0 for none
    take: tuple[str, ...] = ()  # hyperparameters whose values are the script's, by name; or "all"
    on_bad_record: str = "fail"  # or "skip": leave out the batch of a record that cannot be read
    batch_norm: str = "parts"  # or "stop": with BatchNormalization, steps are not computed in parts
    rolls_back: bool = False  # after a loss that is not finite, save nothing: the run goes back
    skip_steps: tuple[int, ...] = ()  # steps whose batches are left out
    rates: tuple[tuple[int, float], ...] = ()  # learning rates, by step of a saved state
    clip_norm: float = 0.0  # that the gradients of a step are clipped to, 0 for not at all
    look_to_step: int = 0  # after each step up to this one the weights are looked at
    batch_parts: int = 1  # in how many parts a step is computed, 1 for one
    small_buffers: bool = False  # the input holds as little as it can, in the same order
    mixed_precision: bool = False  # compute in `MIXED_PRECISION`, unless the script sets a policy
    spare: bool = False  # leave a list of what was imported, for a spare process
    altered: str = ""  # why the numbers are not those of the script alone; empty where they are
    edits: str = ""  # a digest of the edits between attempts of what the script reads, or empty

    @property
    def skips_bad_records(self) -> bool:
        return self.on_bad_record == "skip"

    @property
    def looks_only(self) -> bool:
        return self.find_nan_step > 0 or self.measure_from > 0

    @property
    def saves_by_budget(self) -> bool:
        """Whether what is saved, and when, follows from `overhead` alone; nothing is altered."""
        asked = self.every_steps, self.every_seconds, self.keep_best, self.export_to
        otherwise = self.skips_bad_records, self.altered, self.look_to_step, self.batch_parts > 1
        return not any((*asked, *otherwise, self.last_step, self.looks_only))

    @property
    def variables(self) -> dict[str, str]:
        """What the environment of the command needs for them."""
        # Read before the first op (tensorflow/core/util/determinism.cc).
        asked = {
            "TF_DETERMINISTIC_OPS": self.deterministic,
            ENV_SMALL_BUFFERS: self.small_buffers,
            ENV_MIXED_PRECISION: self.mixed_precision,
        }
        return {name: "1" for name, is_asked in asked.items() if is_asked}

    @property
    def last_step(self) -> int:
        """The first step at which one of these ends the attempt, 0 for none."""
        return min(filter(None, (self.halt_at_step, self.die_at_step)), default=0)
