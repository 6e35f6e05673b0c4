"""The trainer's connection to its supervisor, and what is asked over it."""
