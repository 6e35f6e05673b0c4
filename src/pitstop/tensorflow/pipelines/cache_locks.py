"""Lock files of `Dataset.cache(FILE)` that a killed attempt of the run has left.

TensorFlow writes to no cache whose lock file is there, and removes it only where the iterator ends
in order (`FileWriterIterator` in tensorflow/core/kernels/data/cache_dataset_ops.cc).
"""

import contextlib
import glob
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorflow.python.data.ops import cache_op

from pitstop.engine.fence import fenced
from pitstop.engine.hooking import Original, hook
from pitstop.engine.session import step_recorder
from pitstop.tensorflow.pipelines import pipeline


def watch(attempt_dir: Path) -> None:
    """Removes them when the script makes such a dataset, before it is read."""
    started_seconds = time.time()

    def make(original: Original, stage: Any, /, *args: Any, **kwargs: Any) -> None:
        original(stage, *args, **kwargs)
        with fenced():
            for path in left_behind(pipeline.file_cache_of(stage), attempt_dir, started_seconds):
                path.unlink()

    hook(cache_op.CacheDataset, "__init__", make)


def left_behind(prefix: str, attempt_dir: Path, started_seconds: float) -> Iterator[Path]:
    """The locks of a file cache that earlier attempts have made, and nobody uses."""
    if not prefix:
        return
    # The number is that of the shard, 0 for all that Keras and the script read.
    pattern = f"{glob.escape(Path(prefix).name)}_[0-9]*.lockfile"
    run_began = step_recorder.started_seconds(attempt_dir)
    for path in Path(prefix).parent.glob(pattern):
        changed_seconds = path.stat().st_mtime
        is_earlier = run_began <= changed_seconds < started_seconds
        if is_earlier and not _is_in_use(path):
            yield path


def _is_in_use(lock: Path) -> bool:
    """Whether a process of this machine has a file of the cache open."""
    prefix = os.path.realpath(lock.with_suffix(""))
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(descriptor.readlink()).startswith(f"{prefix}."):
                return True
    return False
