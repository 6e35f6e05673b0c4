"""The report as one HTML file that needs nothing else: no network, no fonts, no script."""

from __future__ import annotations

from pitstop.report.page.document import render

__all__ = ["render"]
