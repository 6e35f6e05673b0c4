"""Messages as the sources of TensorFlow, Keras, CUDA, NCCL, MPI, Slurm, glibc and others have them.

Each stands alone, as in a question of somebody who quotes one line.  `messages.tsv` has them; a
line break is written as in Python.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.lines import clean
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

_TABLE = Path(__file__).with_name("messages.tsv").read_text(encoding="utf-8").splitlines()
_CASES = [tuple(row) for row in csv.reader(_TABLE[1:], delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.mark.parametrize(("cause", "message"), _CASES)
def test_the_message_alone_tells_the_cause(cause: str, message: str) -> None:
    found = findings(Ending(parse(clean(message.replace("\\n", "\n")))))
    assert (found[0].cause if found else "unknown") == cause
