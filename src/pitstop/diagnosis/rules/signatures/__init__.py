"""Which exceptions mean what: tables by family, and the order in which they are asked."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.cut import of_cut
from pitstop.diagnosis.rules.signatures.signature import Signature
from pitstop.diagnosis.rules.signatures.table import SIGNATURES, classify, with_status_names

__all__ = ["SIGNATURES", "Signature", "classify", "of_cut", "with_status_names"]
