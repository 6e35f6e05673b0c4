"""Reads malformed inputs, one after the other."""

from __future__ import annotations

from random import Random

from tests.fuzz.mutation import mutated
from tests.fuzz.readers import Reader


def crashes(reader: Reader, inputs: int, seed: int) -> dict[bytes, BaseException]:
    """Those inputs that end in an error which nobody declares; one for each kind of error."""
    random = Random(seed)
    found: dict[str, tuple[bytes, BaseException]] = {}
    for _ in range(inputs):
        data = mutated(random.choice(reader.examples), random)
        try:
            reader.read(data)
        except reader.declared:
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            found.setdefault(repr(error)[:60], (data, error))
    return dict(found.values())
