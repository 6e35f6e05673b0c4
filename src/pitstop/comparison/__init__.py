"""Where two runs differ, bit for bit: a pure comparison of what they recorded."""

from pitstop.comparison.compare import compare_runs
from pitstop.comparison.difference import Comparison
