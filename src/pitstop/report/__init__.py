"""Reports on why a run ended: terminal, JSON, Markdown; they decide nothing."""

from __future__ import annotations

from pitstop.report.why import WhyReport, why, why_log
