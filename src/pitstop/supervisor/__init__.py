"""`pitstop run`: owns signals, socket, journal and the processes of a run."""
