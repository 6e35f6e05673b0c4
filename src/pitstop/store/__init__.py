"""Checkpoints and run folders on disk: their layout, writing, reading and care."""
