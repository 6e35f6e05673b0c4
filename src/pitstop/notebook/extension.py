"""`%load_ext pitstop`: watches cells and imports; the code that trains is loaded with Keras."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.durations import duration
from pitstop.engine.trackers import trackers
from pitstop.inject.autoload import ImportWatcher
from pitstop.link.settings import ENV_SOCKET
from pitstop.notebook.cells import NotebookCells
from pitstop.notebook.kernel_run import KernelRun, default_folder
from pitstop.notebook.random_begin import RandomBegin

if TYPE_CHECKING:
    from pitstop.notebook.kernel_training import KernelInstrumentation
    from pitstop.notebook.views import RunView

_KERAS = ("keras", "tf_keras")
_USAGE = "%pitstop [status | why | folder NAME | limit TIME]"


class Notebook:
    def __init__(self, shell: Any) -> None:
        self.run = KernelRun(str(default_folder(shell.user_ns)))
        self._random = RandomBegin(lambda: self.run.entropy)
        self._cells = NotebookCells(shell.transform_cell, self._random)
        self._shell = shell
        self._imported: set[str] = set()
        self._training: KernelInstrumentation | None = None

    def install(self) -> None:
        self._shell.events.register("pre_run_cell", lambda info: self._cells.enter(info.raw_cell))
        self._shell.events.register(
            "post_run_cell", lambda result: self._cells.leave(succeeded=bool(result.success))
        )
        self._shell.register_magic_function(self._magic, "line", "pitstop")
        history = self._shell.user_ns.get("In") or [""]
        self._cells.enter(str(history[-1]))
        calls: dict[str, Callable[[], None]] = {"numpy.random": self._random.numpy_came}
        calls |= {name: self._came(name) for name in ("tensorflow", *_KERAS)}
        calls |= trackers.watched()
        watched = {name: call for name, call in calls.items() if name not in sys.modules}
        sys.meta_path.insert(0, ImportWatcher(watched))
        for name in calls.keys() - watched.keys() - {"numpy.random"}:
            calls[name]()

    def _came(self, name: str) -> Callable[[], None]:
        def came() -> None:
            self._imported.add(name)
            packages = tuple(each for each in _KERAS if each in self._imported)
            if "tensorflow" in self._imported:
                self._watch(packages if name == "tensorflow" else (name,))

        return came

    def _watch(self, packages: tuple[str, ...]) -> None:
        from pitstop.engine.values import reachable  # noqa: PLC0415
        from pitstop.tensorflow.variables.variables import REGISTRY  # noqa: PLC0415

        reachable.count_as_users("__main__")
        REGISTRY.only_owned = True
        REGISTRY.install()
        if not packages:
            return
        from pitstop.errors import UnsupportedVersion  # noqa: PLC0415
        from pitstop.notebook.kernel_training import KernelInstrumentation  # noqa: PLC0415

        if self._training is None:
            self._training = KernelInstrumentation(self.run, self._cells)
        try:
            self._training.install(packages)
        except UnsupportedVersion as problem:
            self.say(f"{problem.message} {problem.remedy}")

    # -- what the user asks -----------------------------------------------------------------

    def view(self) -> RunView:
        from pitstop.notebook.views import RunView  # noqa: PLC0415

        return RunView(self.run)

    def say(self, line: str) -> None:
        print(f"pitstop: {line}", file=sys.stderr)  # noqa: T201

    def _magic(self, line: str) -> object:
        word, _, rest = line.strip().partition(" ")
        if word == "folder" and rest:
            self._choose(rest.strip().strip("\"'"))
        elif word == "limit" and rest:
            self._limit(rest)
        elif word in ("", "status"):
            return self.view().status()
        elif word == "why":
            return self.view().why()
        else:
            self.say(_USAGE)
        return None

    def _choose(self, place: str) -> None:
        if "://" not in place:
            place = str(Path(place).expanduser().absolute())
        if place != self.run.place:
            self.run = KernelRun(place, chosen=True, ends_at_seconds=self.run.ends_at_seconds)
            self._cells.begin_anew()
            if self._training is not None:
                self._training.change_run(self.run)
        self.say(f"trainings are saved in {place}.")

    def _limit(self, text: str) -> None:
        from pitstop.cli.quantities import parse_seconds  # noqa: PLC0415

        try:
            seconds = parse_seconds(text)
        except ValueError as problem:
            self.say(f"{problem}.")
            return
        self.run.ends_at_seconds = time.monotonic() + seconds if seconds else None
        if self._training is not None:
            self._training.end_session()
        self.say(
            f"trainings are saved and stopped in {duration(seconds)}." if seconds else "no limit."
        )


_NOTEBOOKS: list[Notebook] = []


def load_ipython_extension(shell: Any) -> None:
    if _NOTEBOOKS:
        return
    notebook = Notebook(shell)
    if os.environ.get(ENV_SOCKET):
        notebook.say("this kernel runs under `pitstop run`; its folder and options apply.")
        return
    notebook.install()
    _NOTEBOOKS.append(notebook)


def current() -> RunView:
    """The run of this notebook: `status()`, `why()`.

    Raises:
        UserError: `%load_ext pitstop` was not called.
    """
    from pitstop.errors import UserError  # noqa: PLC0415

    if not _NOTEBOOKS:
        raise UserError("Pitstop is not loaded in this notebook.", "Run `%load_ext pitstop`.")
    return _NOTEBOOKS[-1].view()
