"""Runs watched as they go, on a page and in a terminal, from nothing but their files."""
