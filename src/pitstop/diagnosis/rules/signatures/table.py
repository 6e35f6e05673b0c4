"""The order in which rows are asked: the most specific first.

Messages are those of CPython, Keras 2 and 3, TensorFlow 1 and 2, JAX, PyTorch, h5py
and the CUDA libraries; numbers of Windows are those of winerror.h.  Errors that carry
RESOURCE_EXHAUSTED are told apart by their text only: full disks, too many open files
and exhausted memory share the class, and TensorFlow's hint about "OOM" is added to all.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.rules.signatures.cluster import CLUSTER
from pitstop.diagnosis.rules.signatures.gpu import GPU
from pitstop.diagnosis.rules.signatures.inputs import INPUTS
from pitstop.diagnosis.rules.signatures.memory import MEMORY
from pitstop.diagnosis.rules.signatures.place import places_of
from pitstop.diagnosis.rules.signatures.program import NUMBERS, PACKAGES, WEIGHTS
from pitstop.diagnosis.rules.signatures.signature import Signature
from pitstop.diagnosis.rules.signatures.storage import STORAGE

SIGNATURES: tuple[Signature, ...] = (
    *NUMBERS,
    *STORAGE,
    *MEMORY,
    *GPU,
    *CLUSTER,
    *PACKAGES,
    *WEIGHTS,
    *INPUTS,
)

_NO_PART_OF_IT = re.compile(
    r"Hint: If you want to see a list of allocated tensors.*"  # about "OOM", below any error
    # frames of the graph's functions, with their lines of code
    r"|^\s*File \"[^\"]+\", line \d+.*\n?(?:^\s{4,}(?!\w+Error: ).*\n?)?"
    r"|^\s*(?:Compile with|CUDA kernel errors might|For debugging consider).*",
    re.MULTILINE,
)


_OLD_STATUS = re.compile(
    r"\b(?:Resource exhausted|Not found|Invalid argument|Out of range|Unavailable|Aborted"
    r"|Failed precondition|Data loss|Deadline exceeded|Cancelled)(?=: (?![-+\d]))"
)
"""As TensorFlow spelled the codes before 2.9, when "NOT_FOUND: " became the form of all."""

_MISSING = frozenset({"FileNotFoundError", "NotADirectoryError", "IsADirectoryError"})
_WRITES = re.compile(r"[Uu]nable to (?:synchronously )?create file|Failed to create a \w+File")


def _could_not_write(raised: Raised) -> bool:
    """The folder that something is to be saved in is not there: no input is missing."""
    if _WRITES.search(raised.message):
        return True
    is_missing = bool(_MISSING & raised.names) or "[Errno 2]" in raised.message
    return is_missing and "saving" in places_of(raised)


def with_status_names(message: str) -> str:
    """The message with its status codes as TensorFlow spells them now."""
    return _OLD_STATUS.sub(lambda found: found[0].replace(" ", "_").upper(), message)


def classify(raised: Raised) -> Signature | None:
    """The first row that fits, None when none does."""
    told = replace(raised, message=with_status_names(_NO_PART_OF_IT.sub("", raised.message)))
    # What a callback cannot find or parse is its own; unless it reads an input, as evaluate does.
    reads_input = not raised.callback or "input" in places_of(raised)
    known = STORAGE if _could_not_write(told) else SIGNATURES
    rows = (row for row in known if reads_input or row not in INPUTS)
    return next((row for row in rows if row.matches(told)), None)
