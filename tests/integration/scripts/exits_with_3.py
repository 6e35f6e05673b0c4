"""Ends at once with exit code 3, before anything heavy is imported."""

import sys

print("no configuration file", file=sys.stderr)
sys.exit(3)
