"""Consistent cuts of the training state in memory, and their way to disk."""
