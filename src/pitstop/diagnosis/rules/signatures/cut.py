"""Exceptions of which the traceback is there, but not the line that names them."""

from __future__ import annotations

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.rules.signatures.place import places_of
from pitstop.diagnosis.rules.signatures.signature import Signature
from pitstop.diagnosis.rules.signatures.table import classify

_READ_ON = "The line that names the exception stands below: look for it in the whole log."

_CALLBACK = Signature("callback_error", "A callback failed", (_READ_ON,), confidence=0.6)
_BY_PLACE = (
    Signature(
        "network_or_download_failure",
        "A download failed",
        (_READ_ON,),
        places=frozenset({"download"}),
        confidence=0.6,
    ),
    Signature(
        "checkpoint_corrupt_or_mismatch",
        "What was saved could not be loaded",
        (_READ_ON,),
        places=frozenset({"restoring"}),
        confidence=0.55,
    ),
    Signature(
        "dependency_or_import_error",
        "A package failed while it was loaded",
        (_READ_ON,),
        places=frozenset({"importing"}),
        confidence=0.55,
    ),
)


def of_cut(raised: Raised) -> Signature | None:
    """What such an exception may be, by its class if that is known, else by its place."""
    known = classify(raised) if raised.name else None
    if known:
        return known
    if raised.callback:
        return _CALLBACK
    places = places_of(raised)
    return next((row for row in _BY_PLACE if row.places & places), None)
