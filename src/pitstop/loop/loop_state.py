"""Everything that a custom loop needs to go on, cut and restored as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pitstop.engine.exactness import EXACT, Exactness
from pitstop.engine.python_state import Encoder, decode
from pitstop.engine.saved_state import SavedState
from pitstop.engine.state_capture import StateCapture
from pitstop.engine.witness import place_on_stack
from pitstop.errors import ResumeRefused
from pitstop.loop.built_models import BuiltModels
from pitstop.loop.tracked import Tracked, track, variables_of
from pitstop.tensorflow import randomness
from pitstop.tensorflow.script_loop import ScriptLoop
from pitstop.tensorflow.variables import VariableRegistry


class LoopState:
    """The variables of the process, its random streams, and the objects that were named.

    Attributes:
        level: of a resume, known after the first cut.
    """

    def __init__(self, objects: Mapping[str, Any], registry: VariableRegistry) -> None:
        """Looks at the objects.

        Raises:
            CannotTrack: one of them can be neither read nor set in place.
        """
        self.level = EXACT
        self._objects: dict[str, Tracked] = {
            name: track(name, value) for name, value in objects.items()
        }
        self._named = dict(objects)
        self._registry = registry
        self._paths: dict[int, str] = {}
        self._models = BuiltModels(objects, registry.naming)
        registry.adopt(variable for _, variable in variables_of(objects))

    def cut(self, loop: ScriptLoop, metrics: Mapping[str, float], milestone: str) -> StateCapture:
        encoder = Encoder("python/")
        held = self._registry.hold(self._path_of)
        captured = {name: each.capture(encoder) for name, each in self._objects.items()}
        self.doubt("; ".join(each.doubt for each in self._objects.values() if each.doubt))
        own = {
            "loop": {
                "objects": {name: described for name, (described, _) in captured.items()},
                "built": encoder.encode(self._models.forms()),
                "metrics": encoder.encode(dict(metrics)),
            },
        }
        beside = [tensor for _, tensors in captured.values() for tensor in tensors]
        return loop.capture(milestone, self.level, held, encoder, own, beside)

    def restore(self, saved: SavedState) -> None:
        """Brings everything to a saved cut.

        Raises:
            ResumeRefused: the script keeps other objects, or another model.
        """
        self.check(saved)
        self.build(saved)
        self._registry.restore(saved, self._path_of)
        for name in self._objects:
            self.restore_object(name, saved)
        randomness.restore(decode(saved.state["random"], saved.tensors))

    def settle(self, saved: SavedState) -> None:
        """The first step is over: it has created what it creates.

        Raises:
            ResumeRefused: it created other variables than before.
        """
        self.doubt(self._registry.settle(saved, self._path_of))

    def doubt(self, reason: str) -> None:
        """A resume is not exact, where there is a reason; the first one is told."""
        if reason and self.level is EXACT:
            self.level = Exactness("not_exact", reason)

    def check(self, saved: SavedState) -> None:
        """Makes sure that a saved cut is of these objects.

        Raises:
            ResumeRefused: the script keeps other objects, or trained by `fit`.
        """
        loop = saved.state.get("loop")
        if loop is None:
            raise ResumeRefused(
                "This run was saved by `model.fit`, and now the script has a loop of its own.",
                "Use the script as it was, or start over with another run folder.",
            )
        if loop["objects"].keys() != self._objects.keys():
            raise ResumeRefused(
                f"The run keeps {_names(loop['objects'])}, and the script now names "
                f"{_names(self._objects)}.",
                "Give pitstop.start the same objects, or start over with another run folder.",
            )

    def build(self, saved: SavedState) -> None:
        """Creates the variables that the first step of a compiled model creates."""
        self._models.build(decode(saved.state["loop"]["built"], saved.tensors))

    def restore_object(self, name: str, saved: SavedState) -> None:
        """Brings one object to a saved cut; of variables, their registry does that."""
        self._objects[name].restore(saved.state["loop"]["objects"][name], saved.tensors)

    def hidden_random_op(self, op_type: str) -> None:
        """A random op with a hidden counter was traced, by the code on the stack."""
        self.doubt(
            f"a traced function draws from a hidden random stream ({op_type} at "
            f"{place_on_stack()}); use tf.random.Generator, "
            "keras.random with a SeedGenerator, or a Keras layer"
        )

    def _path_of(self, variable: Any) -> str:
        path = self._paths.get(id(variable))
        if path is None:
            self._paths = {id(each): name for name, each in variables_of(self._named)}
            path = self._paths.setdefault(id(variable), "")
        return path


def _names(objects: Mapping[str, Any]) -> str:
    return ", ".join(objects) or "no objects"
