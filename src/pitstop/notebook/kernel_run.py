"""The run of a kernel: its folder, and a supervisor from the first `fit` after each stop."""

import contextlib
import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from pathlib import Path

from pitstop.engine.connection.companion import Companion, CompanionRequest, RunUnavailable, launch
from pitstop.link.settings import ENV_ENTROPY
from pitstop.remote.place import is_url, parse

RUNS = "runs"
_ENDS_SECONDS = 90.0  # how long the supervisor of the training before may take to save it and end
_PAUSE_SECONDS = 0.1
_TRAINS = ("starting", "running", "suspended")
_NAMES = ("__vsc_ipynb_file__", "__session__")
"""Where VS Code and the kernel say which notebook it is."""
_PREFIX = "pitstop: "


def default_folder(names: dict[str, object]) -> Path:
    """The folder of a notebook, by its name where the names of its cells tell that."""
    told = [names.get(name) for name in _NAMES] + [os.environ.get("JPY_SESSION_NAME")]
    known = [each for each in told if isinstance(each, str) and each.endswith(".ipynb")]
    return (Path(RUNS) / (Path(known[0]).stem if known else "notebook")).absolute()


class KernelRun:
    """One folder or URL, and at most one supervisor at a time; `chosen`: by the user."""

    def __init__(
        self, place: str, *, chosen: bool = False, ends_at_seconds: float | None = None
    ) -> None:
        self.place = place
        self.chosen = chosen
        self.ends_at_seconds = ends_at_seconds  # when trainings are saved and stopped (monotonic)
        self._companion: Companion | None = None
        self._key = ""

    @property
    def folder(self) -> Path:
        return parse(self.place).working_copy if is_url(self.place) else Path(self.place)

    @property
    def entropy(self) -> str:
        """What its random streams begin with: the entropy of the run, or of the one to be made.

        For a mirror it is derived from the URL: the run's own is not known before it is fetched.
        """
        if not self._key and is_url(self.place):
            self._key = hashlib.sha256(self.place.encode()).hexdigest()[:32]
        if not self._key:
            told = os.environ.get(ENV_ENTROPY)
            self._key = _entropy_of(self.folder) or told or secrets.token_hex(16)
        return self._key

    def start(self) -> str:
        """Starts a supervisor; its socket's path.  `RunUnavailable` or `EnvironmentFault`."""
        self.wait()
        self._wait_for_another()
        try:
            self._companion = self._launch()
        except RunUnavailable:
            if self.chosen or not self._is_held():
                raise
            # Another kernel of this notebook, or one of the same name, is there.
            self.place = _next_to(self.place)
            self._companion = self._launch()
        return self._companion.socket_path

    def wait(self) -> None:
        if self._companion is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._companion.process.wait(_ENDS_SECONDS)
            self._companion = None

    def _wait_for_another(self) -> None:
        give_up_at = time.monotonic() + _ENDS_SECONDS
        while self._is_held() and time.monotonic() < give_up_at:
            from pitstop.store.run_folder import open_existing  # noqa: PLC0415
            from pitstop.supervisor.control.live_run import status_of  # noqa: PLC0415

            if status_of(open_existing(self.folder)).state in _TRAINS:
                return
            time.sleep(_PAUSE_SECONDS)

    def _launch(self) -> Companion:
        reading, writing = os.pipe()
        left = None
        if self.ends_at_seconds is not None:
            # 0 would mean no limit.
            left = max(_PAUSE_SECONDS, self.ends_at_seconds - time.monotonic())
        try:
            request = CompanionRequest(self.place, max_seconds=left, kernel=True)
            companion = launch(request, writing, self.entropy)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        threading.Thread(target=_repeat, args=(reading,), name="pitstop-words", daemon=True).start()
        return companion

    def _is_held(self) -> bool:
        from pitstop.store.lock import is_locked  # noqa: PLC0415

        return is_locked(self.folder / "lock")


def _repeat(fd: int) -> None:
    with os.fdopen(fd, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(_PREFIX):
                sys.stderr.write(line)
                sys.stderr.flush()


def _entropy_of(folder: Path) -> str:
    try:
        told = json.loads((folder / "run.json").read_text()).get("entropy", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return told if isinstance(told, str) else ""


def _next_to(place: str) -> str:
    name, _, number = place.rpartition("-")
    if name and number.isdecimal():
        return f"{name}-{int(number) + 1}"
    return f"{place}-2"
