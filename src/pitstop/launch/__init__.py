"""Several runs that train together, started on this machine as one."""
