"""How often the script itself reads each shuffle, outside of `fit`: each reading takes a seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from tensorflow.python.data.ops import dataset_ops

from pitstop.engine.fence import fenced
from pitstop.engine.hooking import Original, hook
from pitstop.engine.values.described import describe
from pitstop.tensorflow.kept_files import KEPT_FILES
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.pipelines.stages import every_stage

_METHODS = ("__iter__", "reduce", "save")
"""Those of a dataset that read it from its beginning."""


class ShuffleReadings:
    """Counts the readings of shuffles that still exist."""

    def __init__(self) -> None:
        self._counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._is_off = False
        self._attempt_dir: Path | None = None
        self.doubt = ""  # why what follows these readings may be another

    def watch(self, attempt_dir: Path | None = None) -> None:
        self._attempt_dir = attempt_dir
        for name in _METHODS:
            hook(dataset_ops.DatasetV2, name, self._read)

    def _read(self, original: Original, dataset: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not self._is_off:
            with fenced():
                for each in filter(pipeline.is_drawn, every_stage(dataset)):
                    self._counts[each] = self._counts.get(each, 0) + 1
                if self._attempt_dir is not None and not self.doubt:
                    self.doubt = KEPT_FILES.of_reading(self._attempt_dir, dataset)
        return original(dataset, *args, **kwargs)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What a `fit` reads is known from its own state."""
        before, self._is_off = self._is_off, True
        try:
            yield
        finally:
            self._is_off = before

    def so_far(self) -> str:
        return describe(sorted(self._counts.values()))


SHUFFLE_READINGS = ShuffleReadings()  # of this process
