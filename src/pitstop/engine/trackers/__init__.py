"""Runs of experiment trackers, which a resumed script goes on with."""
