"""Calls back when TensorFlow and Keras have been imported.

An import hook, because the script decides whether and when it imports them;
importing them here would cost every Python process of the run seconds.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
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
    """Finds the watched modules through the other finders, and wraps their loaders.

    A module may be looked for (`importlib.util.find_spec`) without being
    imported, so that finding it must have no effect.
    """

    def __init__(self, watched: Mapping[str, Callable[[], None]]) -> None:
        self._watched = watched
        self._finding: set[str] = set()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Part of the import protocol."""
        if fullname not in self._watched or fullname in self._finding:
            return None
        self._finding.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _NotifyingLoader(spec.loader, self._watched[fullname])
        return spec


class _Autoload:
    """Installs the adapters once both frameworks are there.

    Either may import the other while it is itself being imported; nothing is
    touched before both have finished.
    """

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._awaited = {"tensorflow", "keras"}

    def imported(self, name: str) -> None:
        """One of the frameworks has been imported."""
        self._awaited.discard(name)
        if name == "tensorflow":
            self._install_variables()
        if not self._awaited:
            self._install_keras()

    def _install_variables(self) -> None:
        # At once: variables may be created before Keras is imported.
        from pitstop.errors import UnsupportedVersion
        from pitstop.tensorflow import private, variables

        with contextlib.suppress(UnsupportedVersion):  # said when Keras comes
            private.check()
            variables.REGISTRY.install()

    def _install_keras(self) -> None:
        from pitstop.errors import UnsupportedVersion
        from pitstop.keras import hooks
        from pitstop.tensorflow import private, variables

        try:
            private.check()
            hooks.install(self._socket_path, variables.REGISTRY)
        except UnsupportedVersion as problem:
            hooks.report_unavailable(self._socket_path, problem)


def install(socket_path: str) -> None:
    """Waits for TensorFlow and Keras in this process."""
    imported = _Autoload(socket_path).imported
    watched = {name: functools.partial(imported, name) for name in ("tensorflow", "keras")}
    sys.meta_path.insert(0, ImportWatcher(watched))
