"""What a process computes with: accelerators, and versions of the frameworks."""

import os
import re
import sys
from collections import Counter
from collections.abc import Container, Sequence

import numpy as np
import tensorflow as tf

from pitstop.engine.exactness import Exactness, level_of_members, not_exact
from pitstop.engine.session.session import Session
from pitstop.link.messages import AllocatorSample
from pitstop.link.settings import MIXED_PRECISION
from pitstop.tensorflow import private
from pitstop.tensorflow.traced_ops import OpKind

_CPU = "CPU"
_FLAGS = "TF_XLA_FLAGS"
_MEASURED = ["GPU"]
"""With deterministic ops, one of these gives the same bits (docs/benchmarks.md)."""


def accelerators() -> dict[str, str]:
    """By kind ("GPU"), the models that this process may use, and how many of each."""
    models = Counter((device.device_type, _model(device)) for device in _visible_devices())
    by_kind: dict[str, list[str]] = {}
    for (kind, model), count in sorted(models.items()):
        by_kind.setdefault(kind, []).append(f"{count} x {model}")
    return {kind: ", ".join(found) for kind, found in by_kind.items()}


def allocators() -> list[AllocatorSample]:
    found = []
    for each in tf.config.list_logical_devices("GPU"):
        device = each.name.removeprefix("/device:")
        sizes = tf.config.experimental.get_memory_info(device)
        found.append(AllocatorSample(device, sizes["current"], sizes["peak"]))
    return found


def versions() -> dict[str, str]:
    found = {"tensorflow": tf.__version__, "numpy": np.__version__}
    packages = {name: sys.modules.get(name) for name in ("keras", "tf_keras")}
    return found | {name: each.__version__ for name, each in packages.items() if each is not None}


_MIXED = not_exact(
    f"--on-oom precision made {MIXED_PRECISION} the default of Keras, which changes the results"
)

_CLUSTERED = not_exact(
    "XLA compiles parts of the training by itself (auto-clustering): a part for another size of "
    "batch only where it comes often enough in one process; use jit_compile=True instead"
)

_MARKED = (
    "{} marks parts of its graph for XLA (jit_scope): a part for another size of batch is compiled "
    "only where it comes often enough in one process; use jit_compile=True instead"
)
_COMPILED = (
    "{} is compiled by XLA (jit_compile), which may choose other kernels on this device in another "
    "process"
)


def doubt_of(kinds: Container[OpKind]) -> str:
    """Why a function with such ops may have other results in a resume; empty where nothing says so.

    With a place for its name.
    """
    if OpKind.MARKED in kinds:
        return _MARKED
    return _COMPILED if OpKind.COMPILED in kinds and _visible_devices() else ""


def computed_with() -> dict[str, str]:
    found = "; ".join(accelerators().values())
    if found and tf.config.experimental.tensor_float_32_execution_enabled():
        found += ", TensorFloat-32"
    return {**versions(), "device": found or _CPU}


def level_of_process(session: Session | None = None) -> Exactness | None:
    """What keeps any training of this process from being exact; None where nothing does."""
    members = level_of_members(session.snapshots.lockstep if session is not None else None)
    altered = _MIXED if session is not None and session.settings.mixed_precision else None
    kinds = [each.device_type for each in _visible_devices()]
    level = members or altered or level_on(kinds, private.deterministic_ops())
    clusters = has_clusters(kinds, tf.config.optimizer.get_jit(), os.environ.get(_FLAGS, ""))
    return level or (_CLUSTERED if clusters else None)


def has_clusters(kinds: Sequence[str], asked: str, flags: str) -> bool:
    """Whether XLA compiles parts of graphs that nobody has marked for it.

    `asked`: what `tf.config.optimizer.get_jit` gives. See mark_for_compilation_pass.cc, and
    `ShouldCompileCluster` of device_compilation_profiler.cc.
    """
    is_on = bool(asked) or bool(re.search(r"tf_xla_auto_jit=(?!0|-1)", flags))
    return is_on and (bool(kinds) or "tf_xla_cpu_global_jit" in flags)


def level_on(kinds: Sequence[str], deterministic: bool) -> Exactness | None:
    """What keeps a training on these accelerators from being exact, or None.

    `deterministic`: only ops that give the same bits each time are used.
    """
    if not kinds or (deterministic and list(kinds) == _MEASURED):
        return None
    counts = Counter(kinds).items()
    device = " and ".join(kind if count == 1 else f"{count} {kind}s" for kind, count in counts)
    if deterministic:
        return not_exact(f"restored exactly; whether {device} repeat it was never tested")
    return not_exact(
        f"restored exactly; not repeatable on this device ({device}), where sums have no fixed "
        "order: use `pitstop run --deterministic`, or "
        "tf.config.experimental.enable_op_determinism()"
    )


def _visible_devices() -> list[tf.config.PhysicalDevice]:
    return [each for each in tf.config.get_visible_devices() if each.device_type != _CPU]


def _model(device: tf.config.PhysicalDevice) -> str:
    details = tf.config.experimental.get_device_details(device)
    return str(details.get("device_name", device.device_type))
