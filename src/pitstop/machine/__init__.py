"""Facts about the machine that more than one layer needs."""
