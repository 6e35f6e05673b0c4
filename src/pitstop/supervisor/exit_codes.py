"""Exit codes that mean something."""

EXIT_STOPPED = 75
"""EX_TEMPFAIL: stopped safely, run the same command again to go on."""
