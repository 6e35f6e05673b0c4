"""Calls back when TensorFlow and Keras have been imported.

An import hook: importing them here would cost every Python process of the run seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from pitstop.engine.files import attempt_records
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.made_folders import MADE
from pitstop.engine.library_imports import IMPORTS
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.engine.session import exit_calls

if TYPE_CHECKING:
    from pitstop.engine.session.session import Session
    from pitstop.errors import UnsupportedVersion
    from pitstop.replay.recorder import Recorder
    from pitstop.tensorflow.sessions.session_course import Supervisor

_KERAS = ("keras", "tf_keras")
_FRAMEWORKS = ("tensorflow", *_KERAS)


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

    Finding one must have no effect: it may be looked for without being imported.
    """

    def __init__(self, watched: Mapping[str, Callable[[], None]]) -> None:
        self._watched = watched
        self._finding: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._watched or fullname in self._finding:
            return None
        IMPORTS.look()
        self._finding.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _NotifyingLoader(spec.loader, self._watched[fullname])
        return spec


class _Autoload:
    """Installs the adapters as the frameworks come, of which either may import the other."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._imported: set[str] = set()
        self._recorder: Recorder | None = None
        self._failed = False
        self._exit_code: int | None = None

    def imported(self, name: str) -> None:
        self._imported.add(name)
        if name == "tensorflow":
            self._install_tensorflow()
        if "tensorflow" in self._imported:
            for package in _KERAS if name == "tensorflow" else (name,):
                if package in self._imported:
                    self._install_keras(package)

    def guarded(self, call: Callable[[], None]) -> Callable[[], None]:
        """The same call; if it fails, the script's import goes on as without Pitstop."""

        def guarded() -> None:
            try:
                call()
            except Exception as problem:  # noqa: BLE001
                self._tell(problem)

        return guarded

    def _tell(self, problem: Exception) -> None:
        """Tells the run, once, that this process goes on without Pitstop."""
        if self._failed:
            return
        self._failed = True
        why = f"{type(problem).__name__}: {problem}".splitlines()[0]
        try:
            self._report(why)
        except Exception:  # noqa: BLE001  the modules that report may be what cannot be loaded
            with contextlib.suppress(Exception):
                from pitstop.plain_text import say

                say(f"Pitstop fails in this process, and can save nothing ({why}). Reinstall it.")

    def _report(self, why: str) -> None:
        from pitstop.errors import UnsupportedVersion

        modules = {name: sys.modules.get(name) for name in (*_FRAMEWORKS, "numpy")}
        found = {name: getattr(each, "__version__", "") for name, each in modules.items()}
        known = {name: str(version) for name, version in found.items() if version}
        told = " and ".join(f"{name} {version}" for name, version in known.items())
        message = f"Pitstop cannot work in this process, which has {told} ({why})."
        remedy = "Use Keras 3.10 and TensorFlow 2.18 or later, or continue without snapshots."
        self._give_up(known, UnsupportedVersion(message, remedy))

    def _give_up(self, versions: Mapping[str, str], problem: UnsupportedVersion) -> None:
        from pitstop.engine.session.process_session import report_unavailable

        if self._recorder is not None:
            self._recorder.switch_off()
        report_unavailable(self._socket_path, versions, problem)

    def _install_tensorflow(self) -> None:
        # At once: variables may be created before Keras is imported, and a
        # loop may do without it.
        from pitstop.errors import UnsupportedVersion
        from pitstop.tensorflow import cluster_roles
        from pitstop.tensorflow.pipelines import stages

        # First, and in any version: a server waits there as well.
        cluster_roles.watch(self._supervisor())
        from pitstop.replay import install
        from pitstop.tensorflow import node_tracebacks, private, randomness, shuffle_readings
        from pitstop.tensorflow.pipelines import buffers, cache_locks
        from pitstop.tensorflow.variables import variables

        with contextlib.suppress(UnsupportedVersion):  # said when Keras comes
            private.check()
            node_tracebacks.leave_out_ours()
            variables.REGISTRY.install()
            randomness.watch_unseeded_ops()
            stages.watch()
            if stacks_path := os.environ.get("PITSTOP_STACKS"):
                attempt_dir = Path(stacks_path).parent
                cache_locks.watch(attempt_dir)
                shuffle_readings.SHUFFLE_READINGS.watch(attempt_dir)
                if int(attempt_dir.name) > 1:
                    EARLIER.looks.begin()
            # `ENV_SMALL_BUFFERS` by its value, as `ENV_STACKS` below.
            if os.environ.get("PITSTOP_SMALL_BUFFERS"):
                buffers.reduce()
            self._recorder = install.watch_functions(variables.REGISTRY, self.open_session)

    def _supervisor(self) -> Supervisor:
        from pitstop.tensorflow.sessions.session_course import Supervisor

        return Supervisor(self._socket_path, self.open_session, self._leave)

    def _leave(self, exit_code: int) -> NoReturn:
        self._exit_code = exit_code
        raise SystemExit(exit_code)

    def end(self) -> None:
        """Runs last at the exit, in place of TensorFlow's own end, which takes a second."""
        if self._exit_code is not None:
            from pitstop.engine.leaving import LeavesScript, end_process

            end_process(LeavesScript(self._exit_code))

    def watch_estimators(self) -> None:
        """Watches Estimators once imported; TensorFlow 2.15 imports them at their first use."""
        from pitstop.tensorflow.sessions import estimators

        estimators.watch(self._supervisor())

    def _install_keras(self, package: str) -> None:
        from pitstop.errors import UnsupportedVersion
        from pitstop.keras.instrumentation import of_process
        from pitstop.keras.packages import hooks_of
        from pitstop.replay import install
        from pitstop.tensorflow import devices, private

        hooks: Any = hooks_of(package)
        try:
            private.check()
            hooks.install(of_process(self._socket_path))
        except UnsupportedVersion as problem:
            self._give_up(devices.versions(), problem)
        else:
            if self._recorder is not None:
                install.watch_models(self._recorder, hooks.TRAINER, hooks.APPLIES)

    def open_session(self) -> Session | None:
        """The session of this process; None where another one trains, or its loop has its own."""
        from pitstop.engine.session import process_session
        from pitstop.engine.snapshots.weights_file import WeightsUnusable
        from pitstop.errors import PeerFault
        from pitstop.tensorflow.devices import computed_with

        session = process_session.current()
        if session is not None:
            # The loop of `pitstop.start` has boundaries of its own.
            return session if session.trains_with_fit else None
        try:
            session = process_session.open_session(self._socket_path, computed_with(), _callback_of)
        except PeerFault:
            # Another process of the run trains, or the run is over.
            return None
        if session.start_from():
            problem = (
                "A recorded loop is detected only after its first step, which is too late for "
                "--from to load weights."
            )
            remedy = "Load the weights in the script, or name its objects in pitstop.start."
            session.refuse(WeightsUnusable(problem, remedy), "weights_refused")
        return session


def _callback_of(frame: FrameType) -> str:
    """Class name of the Keras callback a frame runs in; empty without Keras."""
    if "pitstop.keras.callbacks.stop_training" not in sys.modules:
        return ""
    from pitstop.keras.callbacks import stop_training

    return stop_training.callback_of(frame)


def install(socket_path: str, also: Mapping[str, Callable[[], None]] | None = None) -> None:
    """Waits for TensorFlow and Keras in this process, and for other modules."""
    IMPORTS.begin()
    exit_calls.watch()
    autoload = _Autoload(socket_path)
    atexit.register(autoload.end)
    calls: dict[str, Callable[[], None]] = dict(also or {})
    calls |= {name: functools.partial(autoload.imported, name) for name in _FRAMEWORKS}
    calls["tensorflow_estimator"] = autoload.watch_estimators
    calls = {name: autoload.guarded(call) for name, call in calls.items()}
    there = [call for name, call in calls.items() if name in sys.modules]
    watched = {name: call for name, call in calls.items() if name not in sys.modules}
    sys.meta_path.insert(0, ImportWatcher(watched))
    for call in there:
        call()


def watch_files() -> None:
    """Sees from now on which files the script reads, and which folders it makes."""
    EARLIER.listen()
    OUTSIDE.watch()
    # `ENV_STACKS` by its value: its module is not loaded in every process of the run.
    stacks_path = os.environ.get("PITSTOP_STACKS")
    attempt_dir = Path(stacks_path).parent if stacks_path else None
    MADE.watch(attempt_dir)
    attempt_records.watch(attempt_dir)
