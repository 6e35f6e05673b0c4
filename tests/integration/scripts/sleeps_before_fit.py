"""Prepares its data for argv[1] seconds (60) before it trains."""

import sys
import time

from tiny import fit

print("preparing data", flush=True)
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
fit()
