"""The Python state of the script behind one `fit`, saved with its cuts.

An error in here puts a name on the list of what is not restored; it never ends the training.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pitstop.engine.exactness import missing
from pitstop.engine.script_state.fingerprint import of_saved
from pitstop.engine.script_state.node import Node
from pitstop.engine.script_state.state import Part, Saved, ScriptState
from pitstop.engine.values.python_state import Arrays, Encoder
from pitstop.keras.callbacks import callback_nodes
from pitstop.keras.script_library import KerasLibrary

_INPUT_ARRAYS = "input_objects/"


class FitObjects:
    def __init__(self) -> None:
        self._state = ScriptState(KerasLibrary())
        self._input: Saved = {}
        self._input_arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._input_unverified: list[str] = []
        self._cut_unverified: list[str] = []
        self._failures: list[str] = []
        self._before_replay: dict[str, Node] = {}

    @property
    def unverified(self) -> list[str]:
        return [*self._input_unverified, *self._cut_unverified, *self._failures]

    @property
    def lost(self) -> str:
        return missing(self._failures) if self._failures else ""

    def begin(self, arguments: Mapping[str, Any], callbacks: list[Any]) -> None:
        rest = {name: value for name, value in arguments.items() if name not in ("x", "callbacks")}
        named = callback_nodes.numbered(callbacks)
        data = {name: arguments[name] for name in ("x",) if name in arguments}
        with self._fenced():
            self._state.begin({**named, **rest}, data)

    def moved_generators(self) -> dict[str, Any]:
        with self._fenced():
            return self._state.moved_generators()
        return {}

    def holds(self, name: str) -> bool:
        with self._fenced():
            return self._state.is_held(name)
        return True

    @property
    def input_digest(self) -> str:
        return of_saved(self._input, self._input_arrays)

    def capture_input(self) -> None:
        encoder = Encoder(_INPUT_ARRAYS)
        self._input, self._input_unverified = {}, []
        with self._fenced():
            self._input, self._input_unverified = self._state.capture_input(encoder)
        self._input_arrays = encoder.arrays

    def capture(
        self, encoder: Encoder, callbacks: list[Any], *, read_ahead: bool
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The callbacks and the objects at a cut, in JSON; arrays go to the encoder."""
        cut: Saved = {}
        nodes = self._state.keep_whole(callback_nodes.named(callbacks))
        with self._fenced():
            cut = self._state.capture(encoder, read_ahead=read_ahead)
        self._cut_unverified = self._state.unverified
        described = callback_nodes.taken_out(cut, callbacks, nodes)
        if read_ahead:
            # They are ours alone: no further copy.
            encoder.arrays.update(self._input_arrays)
        else:
            self._input_unverified = []
        read = self._input if read_ahead else {}
        return described, {"cut": cut, "input": read, "arrays": self._state.arrays_at_begin()}

    def changed_behind(self, cut: Saved, copied: list[Any]) -> list[str]:
        """What a cut has of arrays, or of what shares their memory, of which Keras has copies."""
        told = "changed after the first validation, which later ones do not see"
        with self._fenced():
            return [f"{name} ({told})" for name in self._state.sharing(cut, copied)]
        return []

    def changed_arrays(self, saved: Mapping[str, Any]) -> list[str]:
        now = self._state.arrays_at_begin()
        was = saved["arrays"].items()
        changed = [name for name, content in was if now.get(name, content) != content]
        return [name for name in changed if name not in {**saved["cut"], **saved["input"]}]

    def restore_input(self, saved: Mapping[str, Any], arrays: Arrays) -> None:
        with self._fenced():
            self._tell(self._state.restore_input(saved["input"], arrays))
        self._before_replay = {}
        with self._fenced():
            self._before_replay = self._state.look_at_input()
        self.capture_input()

    def restore(
        self, fit: Mapping[str, Any], arrays: Arrays, callbacks: list[Any], *, left: str
    ) -> list[str]:
        """All else as at the cut; `left` parts of the input stay ("none", "moved", "all").

        `fit` is that part of the saved state. A sentence for each callback that is not what it was.
        """
        but: frozenset[Part] = frozenset()
        own: Saved = {}
        problems: list[str] = []
        with self._fenced():
            if left == "moved":
                but = self._state.moved(self._before_replay)
            elif left == "all":
                but = self._state.parts_of_input()
        with self._fenced():
            nodes = self._state.keep_whole(callback_nodes.named(callbacks))
            cut, described = fit["objects"]["cut"], fit["callbacks"]
            own, problems = callback_nodes.put_in(cut, described, callbacks, nodes)
            # What has just begun stays as it began.
            for name in callback_nodes.added(described, callbacks, nodes):
                behind = (f"{name}.", f"{name}[")
                known = self._state.baseline
                but |= {(each, None) for each in known if f"{each}.".startswith(behind)}
        with self._fenced():
            self._tell(self._state.restore(own, arrays, read_ahead=left != "none", but=but))
        return problems

    def _tell(self, missing: list[str]) -> None:
        for name in missing:
            self._failures.append(name if name.endswith(")") else f"{name} (no longer exists)")

    @contextmanager
    def _fenced(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  objects of the script may do anything
            problem = f"the script's objects ({type(error).__name__}: {error})"
            if problem not in self._failures:
                self._failures.append(problem)
