"""Every random stream of a process that is known: the global ones, and the script's own.

Two threads draw from them: the script's, between and in the steps, and the
reader of an input written in Python, which is ahead of the step.  On a resume
the reader repeats what it drew, so a stream that moves while the input is
drawn again belongs to the reader; all others are set to what they were at the
cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pitstop.engine.script_random import ScriptRandom, same
from pitstop.tensorflow import randomness

# Where TensorFlow and Keras keep the functions of an input.
_OPENED_MODULES = (
    "tensorflow.python.data.",
    "keras.src.trainers.data_adapters.",
    "tf_keras.src.engine.data_adapter",
)


class RandomStreams:
    """Takes and sets the states of all streams together."""

    def __init__(self) -> None:
        self._script = ScriptRandom()

    def look(self, roots: Mapping[str, Any]) -> None:
        """Looks for the script's generators; these objects and its modules lead to them."""
        self._script.look(roots, is_part_of_an_input)

    def capture(self) -> dict[str, Any]:
        return {**randomness.capture(), "objects": self._script.capture()}

    def restore(self, state: dict[str, Any]) -> None:
        randomness.restore(state)
        self._script.restore(state.get("objects", {}))

    def restore_unmoved(self, cut: dict[str, Any], before: dict[str, Any]) -> None:
        """After a replay: streams that it has not moved are set to the cut.

        Args:
            cut: the streams at the cut.
            before: the streams when the replay began.
        """
        self.restore(unmoved(cut, before, self.capture()))

    def missing(self, state: dict[str, Any]) -> list[str]:
        """Names of the script's generators that it no longer has."""
        return self._script.missing(state.get("objects", {}))


def unmoved(cut: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The part of `cut` for the streams that are the same before and now."""
    kept = {name: state for name, state in cut.items() if same(before.get(name), now.get(name))}
    tensorflow = randomness.of_tensorflow(cut)
    if not tensorflow.keys() <= kept.keys():  # They are one stream together.
        kept = {name: kept[name] for name in kept.keys() - tensorflow.keys()}
    moved = {
        name
        for name, state in before["objects"].items()
        if not same(state, now["objects"].get(name))
    }
    objects = cut.get("objects", {})
    return {**kept, "objects": {name: objects[name] for name in objects.keys() - moved}}


def is_part_of_an_input(kind: type) -> bool:
    """Whether TensorFlow or Keras keeps functions of an input in objects of this class."""
    return str(kind.__module__).startswith(_OPENED_MODULES)
