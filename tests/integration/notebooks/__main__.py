"""Runs what happens to notebooks by its numbers, and counts the deaths of kernels.

python -m tests.integration.notebooks FIRST UNTIL [MINUTES]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from pitstop.link.settings import ENV_ENTROPY
from tests.integration.interpreters import forking_kernel
from tests.integration.notebooks.runner import Runner


def main() -> None:
    """Prints what came of each."""
    os.environ[ENV_ENTROPY] = "5eed"
    folder = Path(tempfile.mkdtemp(prefix="notebooks-"))
    deaths = 0
    first, until, minutes = [*map(int, sys.argv[1:]), 10**6][:3]
    ends_at = time.monotonic() + 60 * minutes
    with forking_kernel() as words:
        runner = Runner(folder, words)
        for number in range(first, until):
            if time.monotonic() > ends_at:
                break
            result = runner.run(number)
            deaths += result.deaths
            print(
                f"{number}: {result.deaths} deaths ({deaths} in all), {result.resumed} resumed, "
                f"{result.not_exact} not exact, {len(result.failures)} failures",
                *result.failures,
                sep="\n",
                flush=True,
            )


if __name__ == "__main__":
    main()
