"""Reports on why a run ended: terminal, JSON, Markdown; they decide nothing."""

from pitstop.report.why import WhyReport, why, why_log
