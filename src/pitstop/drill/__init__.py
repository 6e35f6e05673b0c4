"""Interrupts a script on purpose, and proves that it resumes exactly."""

from __future__ import annotations

from pitstop.drill.outcome import Drill, Trial, Verdict
from pitstop.drill.runner import DrillRequest, run_drill

__all__ = ["Drill", "DrillRequest", "Trial", "Verdict", "run_drill"]
