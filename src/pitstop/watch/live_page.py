"""Pages that are made again as their runs go on: once for all viewers."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from pitstop.errors import PitstopError
from pitstop.report.page.element import HOVER, STYLE, Child, document, element, serialize, shipped
from pitstop.store.run_folder import RUN_FILE, find_runs
from pitstop.watch import run_parts
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.run_list import RunList

SCRIPTS = (shipped(HOVER), shipped("watch.js", __package__))
_STYLE = shipped(STYLE) + shipped("watch.css", __package__)
_BUTTONS = (
    ("checkpoint", "Save now"),
    ("stop_after_epoch", "Stop after this epoch"),
    ("stop", "Stop"),
)

EVERY_SECONDS = 1.0
COST_SHARE = 0.005  # of one processor, for all parts of a page together


@dataclass
class PagePart:
    """A part of a page, as it was made last; `share`: of the page's processor time."""

    id: str
    make: Callable[[], Element | None]
    share: float
    made: Element | None = None
    html: str = ""
    version: int = 0
    due_seconds: float = 0.0

    def refresh(self, now_seconds: float) -> None:
        if now_seconds < self.due_seconds:
            return
        before = time.thread_time()
        self.made = self.make()
        html = "" if self.made is None else serialize(self.made)
        cost = time.thread_time() - before
        # The first time everything is read, and later only what is new.
        lasting = cost if self.version else 0.0
        self.due_seconds = now_seconds + wait_seconds(lasting, self.share)
        if html != self.html:
            self.html = html
            self.version += 1


def wait_seconds(cost_seconds: float, share: float) -> float:
    """How long to wait after making something that took so much processor time."""
    return max(EVERY_SECONDS, cost_seconds / (COST_SHARE * share))


class LivePage:
    """The parts of one page, for all viewers."""

    def __init__(self, title: str, parts: Sequence[PagePart], bar: Element) -> None:
        self._title = title
        self._parts = parts
        self._bar = bar
        self._lock = threading.Lock()

    def refresh(self) -> None:
        with self._lock:
            for part in self._parts:
                part.refresh(time.monotonic())

    def changed(self, seen: Mapping[str, int]) -> list[PagePart]:
        return [each for each in self._parts if each.version > seen.get(each.id, 0)]

    def html(self) -> str:
        self.refresh()
        with self._lock:
            parts = [element("div", each.made, id=each.id, class_="part") for each in self._parts]
            return document(self._title, element("main", self._bar, *parts), _STYLE, SCRIPTS)


def of_run(run: FollowedRun, overview: str, *, can_control: bool) -> LivePage:
    def read_and_tell() -> Element:
        run.refresh()
        return run_parts.now(run)

    run.refresh()
    parts = (
        PagePart("now", read_and_tell, 0.3),
        PagePart("why", lambda: run_parts.why(run), 0.05),
        PagePart("curves", lambda: run_parts.curves(run), 0.5),
        PagePart("attempts", lambda: run_parts.attempts(run), 0.05),
        PagePart("checkpoints", lambda: run_parts.checkpoints(run), 0.05),
        PagePart("output", lambda: run_parts.output(run), 0.05),
    )
    back = element("a", "All runs", href=overview) if overview else None
    buttons = [element("button", text, type="button", data_do=action) for action, text in _BUTTONS]
    controls = element("span", *buttons, class_="controls", hidden="") if can_control else None
    return LivePage(str(run.folder.path), parts, _bar(back, controls))


def of_list(runs: RunList, token: str) -> LivePage:
    def section() -> Element:
        runs.refresh()
        return runs.section(token)

    title = f"Runs under {runs.root}/"
    return LivePage(title, (PagePart("runs", section, 1.0),), _bar(element("h1", title)))


def _bar(*children: Child) -> Element:
    said = element("output", class_="said", role="status")
    return element("nav", *children, said, class_="bar-top")


_MOST = 8  # pages of runs that are kept; each holds some megabytes


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
