"""Interrupts a script on purpose, and proves that it resumes exactly."""

from pitstop.drill.outcome import Drill, DrillVerdict, Trial
from pitstop.drill.runner import DrillRequest, run_drill
