"""The pages that are looked at: those that nobody asks for any more are forgotten."""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import urlencode

from pitstop.errors import PitstopError
from pitstop.store.run_folder import RUN_FILE, find_runs
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.live_page import LivePage, of_list, of_run
from pitstop.watch.run_list import RunList

_MOST = 8
"""Pages of runs that are kept; each holds some megabytes."""


class Pages:
    """The page of the runs below a folder, and that of each run."""

    def __init__(self, root: Path, token: str, *, can_control: bool) -> None:
        self._root = root
        self._token = token
        self._can_control = can_control
        self._lock = threading.Lock()
        self._list: LivePage | None = None
        self._pages: dict[str, tuple[FollowedRun, LivePage]] = {}

    def page(self, name: str | None) -> LivePage | None:
        """The page of a run, by its path below the root; of all runs without a name."""
        if name is None and not self._is_one_run():
            with self._lock:
                self._list = self._list or of_list(RunList(self._root), self._token)
                return self._list
        found = self._found(name or ".")
        return found[1] if found else None

    def run(self, name: str | None) -> FollowedRun | None:
        found = self._found(name or ".")
        return found[0] if found else None

    def _found(self, name: str) -> tuple[FollowedRun, LivePage] | None:
        with self._lock:
            if name not in self._pages:
                made = self._made(name)
                if made is None:
                    return None
                self._pages[name] = made
            # The one that was asked for last stays longest.
            found = self._pages.pop(name)
            self._pages[name] = found
            while len(self._pages) > _MOST:
                del self._pages[next(iter(self._pages))]
            return found

    def _made(self, name: str) -> tuple[FollowedRun, LivePage] | None:
        # A name is looked up among the runs that there are: it is never a path of its own.
        path = {str(each.relative_to(self._root)): each for each in find_runs(self._root)}.get(name)
        if path is None:
            return None
        back = "" if self._is_one_run() else "?" + urlencode({"token": self._token})
        try:
            run = FollowedRun(path)
            return run, of_run(run, back, can_control=self._can_control)
        except PitstopError:
            return None

    def _is_one_run(self) -> bool:
        return (self._root / RUN_FILE).is_file()
