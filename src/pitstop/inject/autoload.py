"""Calls back when TensorFlow and Keras have been imported.

An import hook, because the script decides whether and when it imports them;
importing them here would cost every Python process of the run seconds.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _NotifyingLoader(importlib.abc.Loader):
    """Runs a module with its own loader, then tells that it is there."""

    def __init__(self, inner: importlib.abc.Loader, notify: Callable[[], None]) -> None:
        self._inner = inner
        self._notify = notify

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._inner.exec_module(module)
        self._notify()


class ImportWatcher(importlib.abc.MetaPathFinder):
    """Finds the watched modules through the other finders, once each."""

    def __init__(self, watched: dict[str, Callable[[], None]]) -> None:
        self._watched = watched

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Part of the import protocol."""
        notify = self._watched.pop(fullname, None)
        if notify is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _NotifyingLoader(spec.loader, notify)
        return spec


class _Autoload:
    """Installs the adapters as their frameworks appear."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._registry: object = None

    def tensorflow_imported(self) -> None:
        from pitstop.errors import UnsupportedVersion
        from pitstop.tensorflow import private
        from pitstop.tensorflow.variables import VariableRegistry

        try:
            private.check()
        except UnsupportedVersion:
            # Said when Keras comes, which needs it.
            return
        self._registry = VariableRegistry()
        self._registry.install()

    def keras_imported(self) -> None:
        from pitstop.errors import UnsupportedVersion
        from pitstop.keras import hooks
        from pitstop.tensorflow import private
        from pitstop.tensorflow.variables import VariableRegistry

        try:
            private.check()
            if not isinstance(self._registry, VariableRegistry):
                raise UnsupportedVersion("TensorFlow was not imported before Keras.")
            hooks.install(self._socket_path, self._registry)
        except UnsupportedVersion as problem:
            hooks.report_unavailable(self._socket_path, problem)


def install(socket_path: str) -> None:
    """Waits for TensorFlow and Keras in this process."""
    autoload = _Autoload(socket_path)
    watched = {
        "tensorflow": autoload.tensorflow_imported,
        "keras": autoload.keras_imported,
    }
    sys.meta_path.insert(0, ImportWatcher(watched))
