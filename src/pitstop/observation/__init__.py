"""What the machine says about a trainer: memory cgroup, kernel log, limits."""

from pitstop.observation.observer import Observer
