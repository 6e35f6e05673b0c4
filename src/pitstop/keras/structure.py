"""What callbacks change in a model's make-up while it is trained.

Flags that freeze layers are saved and set again.  A training step keeps the flags
that it was traced with, so one that was made anew is made anew on a resume, too.
An optimizer or a loss that was put in the place of another cannot be built again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.errors import ResumeRefused
from pitstop.keras.common_private import layers_of
from pitstop.keras.packages import private_of

Flags = dict[str, list[bool]]


class Structure:
    """Follows a model's make-up through one `fit`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._private = private_of(model)
        self._parts = self._private.compiled_parts(model)
        self._first = self._traced = _held(model)
        # One that an earlier `fit` has left is kept by this one, unless it is made anew.
        self._function: Any = model.train_function
        self._is_traced = self._function is not None
        self._is_remade = False
        self._begun: Flags = {}

    def begin(self) -> None:
        """Keras has the training step; callbacks come next, and then the first boundary."""
        function = self._model.train_function
        self._is_traced = function is self._function
        self._function = function

    def look(self) -> None:
        """A step boundary: is the training step another one?"""
        self._begun = self._begun or flags_of(self._model)
        function = self._model.train_function
        self._is_remade = self._is_remade or function is not self._function
        if not self._is_traced or function is not self._function:
            self._function, self._is_traced = function, True
            self._traced = _held(self._model)

    @property
    def unverified(self) -> list[str]:
        """What has changed and cannot be brought back."""
        found = [f"{name}, which was replaced during the fit" for name in self.replaced]
        if _has_changed(self._traced):
            found.append("trainable flags that changed without make_train_function(force=True)")
        return found

    @property
    def replaced(self) -> list[str]:
        """Parts of the compiled model that are other objects than at the begin."""
        now = self._private.compiled_parts(self._model)
        return [name for name, part in self._parts.items() if now[name] is not part]

    def capture(self) -> dict[str, Any]:
        """The JSON form; empty where nothing has changed."""
        replaced = self.replaced
        if not (_has_changed(self._first) or self._is_remade or replaced):
            return {}
        return {
            "begun": self._begun,
            "flags": flags_of(self._model),
            "remade": self._is_remade,
            "replaced": replaced,
        }

    def as_begun(self, saved: Mapping[str, Any]) -> None:
        """Sets the flags with which the first step made its variables; `restore` comes later."""
        if not saved or saved["begun"] == flags_of(self._model):
            return
        begun, now = saved["begun"], flags_of(self._model)
        # A model that its first step builds has no variables yet.
        same = {
            name: flags if len(flags) == len(now[name]) else now[name]
            for name, flags in begun.items()
        }
        set_flags(self._model, same)
        self._model.make_train_function(force=True)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Sets the flags, and lets the training step be made anew where it was.

        Raises:
            ResumeRefused: the model has other layers, or a part of it was replaced.
        """
        if not saved:
            return
        if saved["replaced"]:
            raise ResumeRefused(
                f"{', '.join(saved['replaced'])} of the model: replaced by the script during the "
                "fit, which cannot be done again.",
                "Call fit once before and once after the change, start over with --new, or go on "
                "without it by --force.",
            )
        now = flags_of(self._model)
        if any(len(saved["flags"][name]) != len(flags) for name, flags in now.items()):
            raise ResumeRefused(
                "The model has other layers than the one whose flags were saved.",
                "Undo the change, or start over with --new.",
            )
        self._begun = saved["begun"]
        set_flags(self._model, saved["flags"])
        if saved["remade"]:
            self._model.make_train_function(force=True)
            self._function, self._is_remade = self._model.train_function, True
            self._traced = _held(self._model)


def flags_of(model: Any) -> Flags:
    layers, variables = _holders(model)
    return {
        "layers": [bool(layer.trainable) for layer in layers],
        "variables": [bool(each.trainable) for each in variables],
    }


def set_flags(model: Any, flags: Flags) -> None:
    """Freezes and thaws layers; those inside of others come after them."""
    layers, variables = _holders(model)
    for layer, flag in zip(layers, flags["layers"], strict=True):
        if layer.trainable is not flag:
            layer.trainable = flag
    for variable, flag in zip(variables, flags["variables"], strict=True):
        if variable.trainable is not flag:
            variable.trainable = flag


def _held(model: Any) -> list[tuple[Any, bool]]:
    # By object: a model that is built by its first step gets more of them.
    layers, variables = _holders(model)
    return [(each, bool(each.trainable)) for each in (*layers, *variables)]


def _holders(model: Any) -> tuple[list[Any], list[Any]]:
    names = private_of(model)
    return layers_of(model), names.built_variables(model)


def _has_changed(held: Sequence[tuple[Any, bool]]) -> bool:
    return any(bool(each.trainable) is not flag for each, flag in held)
