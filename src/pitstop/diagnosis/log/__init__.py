"""Logs of runs that Pitstop did not supervise: what is in them, and what ended the run."""
