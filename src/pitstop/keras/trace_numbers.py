"""What code of the script changes while a step is traced.

A resume sets it as it was, and traces the step again, which would change it once more.
"""

import weakref
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.keras.common_private import layers_of
from pitstop.keras.script_library import names_set_by_libraries

_CHANGED = (
    "{} changes each time a step is traced, which a resume does once more; keep what a step counts "
    "in a tf.Variable"
)


class TraceNumbers:
    """Numbers in attributes of a model and its layers are put back; what else changes is doubted.

    `run`: the `fit` whose objects are watched, if any.
    """

    def __init__(self, model: Any, run: Any = None) -> None:
        self._model = model
        # In Keras 2, each trace changes what a layer keeps of its calls.
        is_watched = run is not None and not hasattr(model, "_thread_local")
        self._run = weakref.ref(run) if is_watched else lambda: None
        self._kept: list[tuple[Any, str, int | float]] = []
        self._before: dict[str, Any] = {}

    @observing()
    def keep(self) -> None:
        self._kept = [
            (owner, name, value)
            for owner in (self._model, *layers_of(self._model))
            for name, value in vars(owner).items()
            if type(value) in (int, float) and name not in names_set_by_libraries(owner.__class__)
        ]
        self._before = self._state()

    def _state(self) -> dict[str, Any]:
        run = self._run()
        with tf.init_scope():  # A function may be traced inside of another one.
            return run.state_of_script() if run is not None else {}

    @observing()
    def put_back(self) -> None:
        for owner, name, value in self._kept:
            if vars(owner).get(name) != value:
                setattr(owner, name, value)
        if (run := self._run()) is not None:
            now = self._state()
            changed = [name for name in now if now[name] != self._before.get(name)]
            run.doubt(_CHANGED.format(changed[0]) if changed else "")
