"""Everything that can stop a run: signals, files, clocks, conditions, shortage."""
