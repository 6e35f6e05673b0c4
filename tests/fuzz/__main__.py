"""Reads many malformed inputs of all kinds.

usage: python -m tests.fuzz [INPUTS [SEED]]
"""

from __future__ import annotations

import sys
import time

from tests.fuzz.readers import READERS
from tests.fuzz.run import crashes


def main() -> int:
    """Prints what each reader made of its share."""
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = 0
    for name, reader in READERS.items():
        began_seconds, count = time.monotonic(), inputs // len(READERS)
        found = crashes(reader, count, seed)
        seconds = time.monotonic() - began_seconds
        print(f"{name}: {count} inputs, {len(found)} crashes, {seconds:.0f} s", flush=True)
        for data, error in list(found.items())[:5]:
            print(f"   {error!r}: {data[:300]!r}")
        failed += len(found)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
