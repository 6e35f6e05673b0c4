"""Exceptions out of Pitstop's own code: nobody else is to blame for them."""

from __future__ import annotations

import re
from itertools import dropwhile

from pitstop.diagnosis.exception import Frame, Raised

HOW_TO_REPORT = (
    "Report it with the traceback of the output log, as CONTRIBUTING.md says; until it is mended "
    "the script runs as ever without `pitstop run`."
)
_OURS = re.compile(r"/(?:src|site-packages|dist-packages)/pitstop/|^pitstop/")
_STANDARD = re.compile(r"/lib/python\d[\d.]*/(?!site-packages|dist-packages)|<frozen |/numpy/")
_PASSES_ON = re.compile(r"\(\s*\*|\*\*\w+\)|\byield\b|\bnext\(|\.read\(|\bopen\(")
"""A call that hands on what the script gave: what fails below it is the script's."""


def frame_of_ours(raised: Raised) -> Frame | None:
    """Pitstop's frame that an exception came out of; None where it came out of other code.

    What the standard library and numpy raise, their callers have brought about.
    """
    if raised.module.partition(".")[0] == "pitstop":
        return None  # meant for the user, and says what to do
    inner = next(dropwhile(_is_standard, reversed(raised.frames)), None)
    is_ours = inner is not None and bool(_OURS.search(inner.posix_path))
    return inner if is_ours and inner and not _PASSES_ON.search(inner.code) else None


def _is_standard(frame: Frame) -> bool:
    return bool(_STANDARD.search(frame.posix_path))
