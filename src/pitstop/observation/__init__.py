"""What the machine says about a trainer: memory cgroup, kernel log, limits."""

from __future__ import annotations

from pitstop.observation.observer import Observer
