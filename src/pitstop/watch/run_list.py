"""All runs below a folder."""

import contextlib
import math
import time
from pathlib import Path
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from pitstop.durations import duration
from pitstop.errors import PitstopError
from pitstop.report.page.element import Child, element
from pitstop.store.run_folder import find_runs
from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import cells
from pitstop.watch import run_parts
from pitstop.watch.followed_run import FollowedRun

_LOOK_SECONDS = 5.0


class RunList:
    """Follows each run; one that cannot be read stays in the list."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs: dict[str, FollowedRun | None] = {}
        self._look_at = 0.0

    def refresh(self) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            found = [str(path.relative_to(self.root)) for path in find_runs(self.root)]
            self.runs = {name: self.runs.get(name) for name in found}
        for name, run in self.runs.items():
            self.runs[name] = _followed(self.root / name, run)

    def statuses(self) -> dict[str, Status]:
        order = sorted(self.runs.items(), key=_place)
        return {
            name: run.status() if run else Status("unreadable", str(self.root / name))
            for name, run in order
        }

    def section(self, token: str) -> Element:
        rows = [self._row(name, status, token) for name, status in self.statuses().items()]
        names = ("run", "state", "step", "time left", "loss", "best", "saved", "last activity")
        heads = element("tr", *(element("th", each, scope="col") for each in names))
        table = element("table", element("thead", heads), element("tbody", *rows), class_="rows")
        nothing = element("p", f"There is no run under {self.root}/ yet.")
        return element("section", table if rows else nothing, class_="wide runs")

    def _row(self, name: str, status: Status, token: str) -> Element:
        run, texts = self.runs[name], cells(status)
        link = element("a", name, href="?" + urlencode({"token": token, "run": name}))
        state = element("span", status.state, class_=f"pill {run_parts.tone(status.state)}")
        steps = element("div", texts["step"], run_parts.progress_bar(status))
        changed = f"{duration(max(0.0, time.time() - _changed(run)))} ago" if run else ""
        found: list[tuple[Child, str, str]] = [
            (link, "name", ""),
            (state, "", ""),
            (steps, "steps", ""),
            *(
                (texts[each], "", f"{each} " if texts[each] else "")
                for each in ("time left", "loss", "best", "saved")
            ),
            (changed, "", ""),
        ]
        columns = (
            element("td", cell, class_=kind, data_label=label) for cell, kind, label in found
        )
        return element("tr", *columns)


def _followed(path: Path, run: FollowedRun | None) -> FollowedRun | None:
    with contextlib.suppress(PitstopError):
        run = run or FollowedRun(path)
        run.refresh()
        return run
    return None


def _place(item: tuple[str, FollowedRun | None]) -> tuple[float, str]:
    # Running runs must keep their order from one look to the next.
    name, run = item
    return (-math.inf if run and run.is_live else -_changed(run)), name


def _changed(run: FollowedRun | None) -> float:
    return run.changed_seconds if run else 0.0
