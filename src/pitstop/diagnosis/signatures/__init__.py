"""Signatures: what exceptions and lines look like, and what they mean; tables with a reader."""

from __future__ import annotations

from pitstop.diagnosis.signatures.tables import (
    ADVICE,
    BY_NAME,
    LINES,
    SIGNATURES,
    TENSORFLOW,
    Signature,
    Weight,
    classify,
    of_cut,
    with_status_names,
)

__all__ = [
    "ADVICE",
    "BY_NAME",
    "LINES",
    "SIGNATURES",
    "TENSORFLOW",
    "Signature",
    "Weight",
    "classify",
    "of_cut",
    "with_status_names",
]
