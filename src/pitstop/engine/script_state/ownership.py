"""Which code counts as the script's: its modules, and installed packages that train with Keras."""

import builtins
import sys
import types
from typing import Any

from pitstop.engine.frames import is_of_script
from pitstop.engine.library_imports import LIBRARIES
from pitstop.engine.program import is_installed
from pitstop.engine.script_state.names import named_class
from pitstop.engine.values import reachable

FRAMEWORKS = ("keras.", "tf_keras.", "tensorflow.")
_KNOWN = LIBRARIES | {
    *("pitstop", "wandb", "mlflow", "comet_ml", "neptune", "clearml", "aim", "tensorboard"),
    *("tensorflow_addons", "tensorflow_io", "tensorflow_text", "keras_cv", "keras_hub"),
    *("keras_nlp", "keras_tuner", "kerastuner", "transformers", "datasets", "huggingface_hub"),
    *("optuna", "optuna_integration", "ray", "horovod", "tqdm", "rich", "absl", "google", "grain"),
    *("cv2", "imgaug", "albumentations", "skimage", "imageio", "polars", "pyarrow", "dask"),
    *("jax", "torch", "torchvision", "numba", "wrapt", "optree", "ml_dtypes", "pytest", "IPython"),
}
"""Packages whose globals and classes hold nothing that a training continues with."""


class Ownership:
    """Decides for one walk which code counts as the script's."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self.packages: dict[str, types.ModuleType] = {}
        """Modules of installed packages that the next walk has to take for the script's."""
        self._modules = modules
        self._asked: set[tuple[str | None, bool]] = set()

    def has(self, value: Any) -> bool:
        return isinstance(value, types.FunctionType) and self.has_code(
            value.__code__, value.__globals__
        )

    def has_code(self, code: types.CodeType, scope: dict[str, Any]) -> bool:
        if is_of_script(code, scope):
            return True
        owner = self._modules.get(str(scope.get("__name__")))
        return owner is not None and vars(owner) is scope

    def has_class(self, kind: type) -> bool:
        for base in kind.__mro__[:-1]:
            self.meet(base.__module__, is_given=False)
            module = base.__module__
            is_placed = module in sys.modules and module not in ("builtins", "__main__")
            if not is_placed or (module in self._modules and self._is_another(base)):
                for each in filter(self.has, vars(base).values()):
                    self.module_of(each.__code__.co_filename, each.__globals__)
        return reachable.is_of(kind, self._modules)

    def _is_another(self, kind: type) -> bool:
        return named_class(f"{kind.__module__}:{kind.__qualname__}", self._modules) is not kind

    def is_in_no_module(self, kind: type) -> bool:
        """Whether code of the script made the class, and the class names no module."""
        # Python puts this attribute into each class that is made by a statement.
        made = [base for base in kind.__mro__ if vars(base).get("__module__") == "builtins"]
        unplaced = [base for base in made if vars(builtins).get(base.__name__) is not base]
        found = [each for base in unplaced for each in vars(base).values()]
        functions = [each for each in found if isinstance(each, types.FunctionType)]
        return bool(unplaced) and (not functions or any(map(self.has, functions)))

    def module_of(self, file: str, scope: dict[str, Any]) -> types.ModuleType:
        """The module that has these globals; if none is registered, a `Namespace` for them."""
        owner: types.ModuleType | None = self._modules.get(str(scope.get("__name__")))
        if owner is None or vars(owner) is not scope:
            owner = reachable.namespace(file, scope)
            self._modules[owner.__name__] = owner
        return owner

    def known(self, module: types.ModuleType) -> types.ModuleType:
        """The module to walk: a `Namespace` for it if another module is registered by its name."""
        if module.__name__ not in self._modules:
            return module  # of a library
        return self.module_of(str(vars(module).get("__file__")), vars(module))

    def meet(self, module: str | None, *, is_given: bool) -> None:
        """Notes the package of a module, to count as the script's, if it uses Keras.

        `is_given`: Keras holds an object of this module; then the package counts in any case.
        """
        asked = (module, is_given)
        if not module or asked in self._asked:
            return
        self._asked.add(asked)
        if module not in self._modules and _is_of_an_unknown_package(module):
            found = _modules_of(module.partition(".")[0])
            if is_given or any(map(_uses_keras, found.values())):
                self.packages |= found


def _is_of_an_unknown_package(module: str) -> bool:
    found = sys.modules.get(module)
    file = vars(found).get("__file__") if issubclass(type(found), types.ModuleType) else None
    is_known = module.partition(".")[0] in _KNOWN
    return not is_known and isinstance(file, str) and is_installed(file)


def _modules_of(package: str) -> dict[str, types.ModuleType]:
    return {
        name: module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == package and issubclass(type(module), types.ModuleType)
    }


def _uses_keras(module: types.ModuleType) -> bool:
    for value in list(vars(module).values()):
        kind = type(value)
        if issubclass(kind, types.ModuleType):
            home = vars(value).get("__name__")
        else:
            home = value.__module__ if issubclass(kind, type | types.FunctionType) else ""
        if f"{home}.".startswith(FRAMEWORKS):
            return True
    return False
