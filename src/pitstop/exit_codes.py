"""Exit codes that mean something."""

EXIT_COMPLETED = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2  # what was asked for cannot be done as it was asked; nothing was changed
EXIT_SIGNALLED = 128  # and the number of the signal that ended it, as shells say
EXIT_TERMINATED = EXIT_SIGNALLED + 15  # by SIGTERM: a member of a cluster that saves nothing
EXIT_STOPPED = 75  # EX_TEMPFAIL: stopped safely, run the same command again to go on
