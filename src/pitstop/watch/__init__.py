"""Runs watched as they go, on a page and in a terminal, from their files alone."""
