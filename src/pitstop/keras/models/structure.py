"""What callbacks change in a model's make-up while it is trained.

Flags, numbers and texts are set again; a training step that was made anew is made anew. An
optimizer, a loss or a function in the place of another cannot be built again.
"""

import math
import types
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pitstop.errors import ResumeRefused
from pitstop.keras.common_private import built_variables, layers_of
from pitstop.keras.packages import kinds, private_of
from pitstop.keras.script_library import names_set_by_libraries

Flags = dict[str, list[bool]]
Setting = tuple[Any, str, Any]  # who has it, its name, and its value

_PARTS = ("regularizers.Regularizer", "constraints.Constraint")
_REMAKE = "make_train_function(force=True)"
_PLAIN = (bool, int, float, str, type(None))
_LOOKS_UNTIL_BUILT = 2
# Keras itself sets it when a layer or an optimizer gets its variables.
_SET_BY_KERAS = ("built",)

_TRACED_WITH: WeakKeyDictionary[Any, Flags] = WeakKeyDictionary()
"""By training step, which a later `fit` takes over without looking at the flags again."""


class Structure:
    def __init__(self, model: Any) -> None:
        self._model = model
        self._private = private_of(model)
        self._parts = self._private.compiled_parts(model)
        # One that an earlier `fit` has left is kept by this one, unless it is made anew.
        self._function: Any = model.train_function
        self._is_traced = self._function is not None
        self._begun: Flags = dict(_TRACED_WITH.get(self._function, {})) if self._is_traced else {}
        self._first = self._traced = _held(model, self._begun)
        self._is_remade = False
        self._settings: list[Setting] = []
        self._traced_settings: list[Setting] = []
        self._is_tracing = False
        self._looks = 0

    def begin(self) -> None:
        function = self._model.train_function
        self._is_traced = function is self._function
        if not self._is_traced and self._begun:
            self._begun, self._first = {}, _held(self._model)
        self._function = function

    def look(self) -> None:
        self._begun = self._begun or flags_of(self._model)
        function = self._model.train_function
        self._is_remade = self._is_remade or function is not self._function
        is_new = not self._is_traced or function is not self._function
        if is_new:
            self._function, self._is_traced = function, True
            self._traced = _held(self._model)
        # A step that is traced builds layers, which may set some, and gives the model variables.
        if is_new or self._is_tracing:
            if not (self._model.run_eagerly or _has_changed(self._traced)):
                _TRACED_WITH[function] = flags_of(self._model)
            self._traced_settings, self._is_tracing = settings_of(self._model), is_new
        if self._looks < _LOOKS_UNTIL_BUILT:
            self._settings, self._looks = settings_of(self._model), self._looks + 1

    @property
    def unverified(self) -> list[str]:
        found = [f"{name}, which was replaced during the fit" for name in self.replaced]
        if _has_changed(self._traced):
            found.append(f"trainable flags that changed without {_REMAKE}")
        if not self._model.run_eagerly:
            changed = [_name_of(each) for each in self._traced_settings if _is_other(each)]
            found += [f"{name}, which changed without {_REMAKE}" for name in changed]
        return found

    @property
    def replaced(self) -> list[str]:
        now = self._private.compiled_parts(self._model)
        changed = [each for each in self._settings if _is_other(each)]
        names = [_name_of(each) for each in changed if not _is_plain(each)]
        return [*(name for name, part in self._parts.items() if now[name] is not part), *names]

    def capture(self) -> dict[str, Any]:
        replaced = self.replaced
        settings = {
            f"{place} {setting[1]}": vars(setting[0])[setting[1]]
            for place, setting in enumerate(self._settings)
            if _is_other(setting) and _is_plain(setting)
        }
        if not (_has_changed(self._first) or self._is_remade or replaced or settings):
            return {}
        return {
            "begun": self._begun,
            "flags": flags_of(self._model),
            "remade": self._is_remade,
            "replaced": replaced,
            "settings": settings,
        }

    def begins_otherwise(self, saved: Mapping[str, Any]) -> bool:
        """Whether the first step was traced with other flags than there are now."""
        return bool(saved) and saved["begun"] != flags_of(self._model)

    def as_begun(self, saved: Mapping[str, Any]) -> None:
        """Sets the flags with which the first step made its variables; `restore` comes later."""
        if not self.begins_otherwise(saved):
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
        """Sets the flags; raises `ResumeRefused` for other layers, or a part that was replaced."""
        if not saved:
            return
        if saved["replaced"]:
            raise ResumeRefused(
                f"{', '.join(saved['replaced'])} of the model: the script replaced it during fit, "
                "which a resume cannot repeat.",
                "Call fit once before and once after the change, start over with --new, or "
                "resume without it with --force.",
            )
        now = flags_of(self._model)
        if any(len(saved["flags"][name]) != len(flags) for name, flags in now.items()):
            raise ResumeRefused(
                "The model's layers differ from those of the saved model.",
                "Undo the change, or start over with --new.",
            )
        self._begun, self._settings = saved["begun"], settings_of(self._model)
        self._looks = _LOOKS_UNTIL_BUILT
        set_flags(self._model, saved["flags"])
        settings = saved.get("settings", {})
        for place, (owner, name, _) in enumerate(self._settings):
            if (key := f"{place} {name}") in settings:
                setattr(owner, name, settings[key])
        if saved["remade"]:
            for layer in layers_of(self._model):
                if isinstance(layer, kinds("layers.Normalization")):
                    # Its constants come from the variables that were restored.
                    layer.finalize_state()
            self._model.make_train_function(force=True)
            self._function, self._is_remade = self._model.train_function, True
            self._traced, self._traced_settings = _held(self._model), settings_of(self._model)


def settings_of(model: Any) -> list[Setting]:
    """What constructors of Keras' classes have set: plain values and functions."""
    optimizer = private_of(model).compiled_parts(model)["the optimizer"]
    inner = getattr(optimizer, "inner_optimizer", None)
    owners = [each for each in layers_of(model) if not isinstance(each, kinds("Model"))]
    owners += [each for each in (optimizer, inner) if hasattr(each, "__dict__")]
    parts = kinds(*_PARTS)
    for owner in list(owners):
        owners += [each for each in vars(owner).values() if isinstance(each, parts)]
    return [
        (owner, name, value)
        for owner in owners
        for name, value in vars(owner).items()
        if isinstance(value, (*_PLAIN, types.FunctionType))
        and not name.startswith("_")
        and name not in _SET_BY_KERAS
        and name in names_set_by_libraries(owner.__class__)
    ]


def _is_other(setting: Setting) -> bool:
    owner, name, value = setting
    now = vars(owner).get(name, value)
    return now is not value and bool(now != value)


def _is_plain(setting: Setting) -> bool:
    owner, name, first = setting
    both = first, vars(owner).get(name)
    is_finite = all(math.isfinite(each) for each in both if isinstance(each, float))
    return is_finite and all(isinstance(each, _PLAIN) for each in both)


def _name_of(setting: Setting) -> str:
    owner, name, _ = setting
    return f"{name} of {getattr(owner, 'name', type(owner).__name__)}"


def flags_of(model: Any) -> Flags:
    layers, variables = _holders(model)
    return {
        "layers": [bool(layer.trainable) for layer in layers],
        "variables": [bool(each.trainable) for each in variables],
    }


def set_flags(model: Any, flags: Flags) -> None:
    for held, name in zip(_holders(model), ("layers", "variables"), strict=True):
        for each, flag in zip(held, flags[name], strict=True):
            if each.trainable is not flag:
                each.trainable = flag


def _held(model: Any, flags: Flags | None = None) -> list[tuple[Any, bool]]:
    """Layers and variables with these flags, or with those that they have."""
    # By object: a model that is built by its first step gets more of them.
    given = (flags or flags_of(model)).values()
    return [
        pair
        for held, each in zip(_holders(model), given, strict=True)
        for pair in zip(held, each, strict=False)
    ]


def _holders(model: Any) -> tuple[list[Any], list[Any]]:
    return layers_of(model), built_variables(model)


def _has_changed(held: Sequence[tuple[Any, bool]]) -> bool:
    return any(bool(each.trainable) is not flag for each, flag in held)
