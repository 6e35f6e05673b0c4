"""Custom training loops: `pitstop.start`, the loop's steps, and what they keep."""
