"""The status of a run, live or from its folder."""
