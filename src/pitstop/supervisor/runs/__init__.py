"""Which run folder a command belongs to."""
