"""When a training stands still, and what it waits for."""
