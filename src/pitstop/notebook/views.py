"""What a cell shows of the notebook's run: tables and the report, as HTML and as text."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING

from rich.console import Console

from pitstop import report
from pitstop.record import Frozen
from pitstop.report import page, terminal
from pitstop.report.page.element import element, serialize
from pitstop.report.why import WhyReport
from pitstop.store.lock import is_locked
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from pitstop.supervisor.status_rows import describe

if TYPE_CHECKING:
    from pitstop.notebook.kernel_run import KernelRun

_FRAME = (
    '<iframe srcdoc="{}" style="width: 100%; height: 36rem; border: 0" sandbox="allow-scripts">'
    "</iframe>"
)


class StatusView(Frozen):
    rows: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12}{text}" for name, text in self.rows)

    def _repr_html_(self) -> str:
        rows = (element("tr", element("th", name), element("td", text)) for name, text in self.rows)
        return serialize(element("table", *rows))


class WhyView(Frozen):
    report: WhyReport

    def __repr__(self) -> str:
        console = Console(file=io.StringIO(), width=80, force_jupyter=False)
        terminal.show(self.report, console)
        return str(console.file.getvalue())  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        # A document of its own: its style does not touch the notebook's.
        return _FRAME.format(html.escape(page.render(self.report)))


class RunView:
    """The run of a notebook; raises `RunNotFound` before its first `fit`."""

    def __init__(self, run: KernelRun) -> None:
        self._run = run

    def status(self) -> StatusView:
        return StatusView(tuple(describe(status_of(open_existing(self._run.folder)))))

    def why(self) -> WhyView:
        folder = open_existing(self._run.folder)
        return WhyView(report.why(folder.path, live=is_locked(folder.lock)))
