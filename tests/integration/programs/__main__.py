"""Runs generated programs by their numbers.

python -m tests.integration.programs NUMBER ... [--smallest]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.integration.interpreters import forking
from tests.integration.programs.drawing import program_of
from tests.integration.programs.grammar import Program
from tests.integration.programs.runner import COMMAND, Runner
from tests.integration.programs.smaller import smallest
from tests.integration.programs.verdict import FAILURES


def main() -> None:
    """Prints what came of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", type=int, nargs="+")
    parser.add_argument("--smallest", action="store_true", help="look for the smallest failing one")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="programs-"))
    with forking("tensorflow", "keras") as python, forking("pitstop.cli.main") as tools:
        runner = Runner(folder, (python,), (tools, str(COMMAND)))
        for number in options.numbers:
            program = program_of(number)
            if options.smallest:
                program = smallest(program, lambda each: _fails(runner, each))
            try:
                print(f"{number}: {program}\n{runner.run(program)}", flush=True)
            except AssertionError as error:
                print(f"{number}: {program}\ninvalid: {error}", flush=True)


def _fails(runner: Runner, program: Program) -> bool:
    return runner.run(program).verdict in FAILURES


if __name__ == "__main__":
    main()
