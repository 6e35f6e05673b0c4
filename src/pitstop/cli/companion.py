"""`python -m pitstop.cli.companion`: what a script without a launcher starts beside itself."""

from __future__ import annotations

import sys
from pathlib import Path

from pitstop.cli.reports import leave_reports
from pitstop.machine.descriptors import open_standard
from pitstop.supervisor.companion import accompany
from pitstop.supervisor.terminal.own_words import say


def _ended(run_dir: Path) -> None:
    leave_reports(run_dir, say)


if __name__ == "__main__":
    open_standard()
    sys.exit(accompany(sys.argv[1:], _ended))
