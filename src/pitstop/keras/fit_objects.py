"""The Python state of the script behind one `fit`, saved with its cuts.

Whatever goes wrong in here is a name on the list of what is not restored, and
never an end of the training.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from pitstop.engine.python_state import Encoder
from pitstop.engine.script_state.state import Part, Saved, ScriptState
from pitstop.engine.script_state.walk import Node
from pitstop.keras import callback_match
from pitstop.keras.fit_level import missing
from pitstop.keras.own_places import foreign_path
from pitstop.keras.script_library import KerasLibrary

_Result = TypeVar("_Result")
NO_OBJECTS: Mapping[str, Any] = {"cut": {}, "input": {}, "arrays": {}}
_INPUT_ARRAYS = "input_objects/"


class FitObjects:
    """Follows the script's objects through one `fit`.

    Attributes:
        unverified: names of what is not restored.
    """

    def __init__(self) -> None:
        self._state = ScriptState(KerasLibrary())
        self._input: Saved = {}
        self._input_arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._input_unverified: list[str] = []
        self._cut_unverified: list[str] = []
        self._failures: list[str] = []
        self._living: Mapping[str, Any] = {}
        self._before_replay: dict[str, Node] = {}

    @property
    def unverified(self) -> list[str]:
        """Names of what is not restored."""
        return [*self._input_unverified, *self._cut_unverified, *self._failures]

    @property
    def lost(self) -> str:
        """What a restoration has not set; empty where it has set all."""
        return missing(self._failures) if self._failures else ""

    def begin(self, arguments: Mapping[str, Any], callbacks: list[Any]) -> None:
        """`fit` begins.

        Args:
            arguments: those of `fit`, and the model.
            callbacks: those that the script gave.
        """
        rest = {name: value for name, value in arguments.items() if name not in ("x", "callbacks")}
        named = callback_match.named(callbacks)
        data = {name: arguments[name] for name in ("x",) if name in arguments}
        self._fenced(lambda: self._state.begin({**named, **rest}, data), None)

    def capture_input(self) -> None:
        """An iterator over the input is about to be created."""
        encoder = Encoder(_INPUT_ARRAYS)
        found: tuple[Saved, list[str]] = ({}, [])
        self._input, self._input_unverified = self._fenced(
            lambda: self._state.capture_input(encoder), found
        )
        self._input_arrays = encoder.arrays

    def capture(self, encoder: Encoder, *, read_ahead: bool) -> dict[str, Any]:
        """The JSON form at a cut; arrays go to the encoder."""
        empty: Saved = {}
        cut = self._fenced(lambda: self._state.capture(encoder, read_ahead=read_ahead), empty)
        self._cut_unverified = self._state.unverified
        arrays = self._state.arrays_at_begin()
        if not read_ahead:
            self._input_unverified = []
            return {"cut": cut, "input": {}, "arrays": arrays}
        # They are ours alone: no further copy.
        encoder.arrays.update(self._input_arrays)
        return {"cut": cut, "input": self._input, "arrays": arrays}

    def changed_arrays(self, saved: Mapping[str, Any]) -> list[str]:
        """Names of arrays that were others when the `fit` began, and are not restored."""
        now = self._state.arrays_at_begin()
        was = saved["arrays"].items()
        changed = [name for name, content in was if now.get(name, content) != content]
        return [name for name in changed if name not in {**saved["cut"], **saved["input"]}]

    def restore_input(self, saved: Mapping[str, Any], arrays: Mapping[str, memoryview]) -> None:
        """What an input that is replayed reads from, as it was when its iterator was created."""
        own = self._without_foreign(saved["input"])
        self._tell(self._fenced(lambda: self._state.restore_input(own, arrays), []))
        self._before_replay = self._fenced(self._state.look_at_input, {})
        self.capture_input()

    def keep_living(self) -> None:
        """The objects that are followed, arrays among them, live until they are restored."""
        self._living = self._state.living()

    def restore(
        self, saved: Mapping[str, Any], arrays: Mapping[str, memoryview], *, left: str
    ) -> None:
        """All else as it was at the cut.

        Args:
            saved: what `capture` gave.
            arrays: the saved tensors by name.
            left: which parts of the input stay: "none", those that a replay has "moved", "all".
        """
        but: frozenset[Part] = frozenset()
        if left == "moved":
            but = self._fenced(lambda: self._state.moved(self._before_replay), but)
        elif left == "all":
            but = self._fenced(self._state.parts_of_input, but)
        read_ahead, own = left != "none", self._without_foreign(saved["cut"])
        self._tell(
            self._fenced(
                lambda: self._state.restore(own, arrays, read_ahead=read_ahead, but=but),
                [],
            )
        )
        self._living = {}

    def _without_foreign(self, nodes: Saved) -> Saved:
        """Without nodes that name places which are none of the script's."""
        script = types.SimpleNamespace(content=self._state.fields_at_begin())
        foreign = {name for name, node in nodes.items() if foreign_path(node["content"], script)}
        self._failures += [f"{name} (names a foreign place)" for name in sorted(foreign)]
        return {name: node for name, node in nodes.items() if name not in foreign}

    def _tell(self, missing: list[str]) -> None:
        self._failures += [f"{name} (no longer there)" for name in missing]

    def _fenced(self, act: Callable[[], _Result], otherwise: _Result) -> _Result:
        try:
            return act()
        except Exception as error:  # noqa: BLE001  objects of the script may do anything
            problem = f"the script's objects ({type(error).__name__}: {error})"
            if problem not in self._failures:
                self._failures.append(problem)
            return otherwise
