"""The flight recorder: what a run used of its machine, second by second."""
