"""Python values of the script: found by their names, described, and written as JSON."""
