"""One row: what an exception looks like, and what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.rules.signatures.place import Place, places_of


@dataclass(frozen=True)
class Signature:
    """What an exception looks like, and what it means.

    Attributes:
        cause: the cause it points to.
        headline: the start of the summary.
        advice: what to do.
        message: pattern that the message must contain; None for any message.
        classes: the class or a base must be one of these; empty for any class.
        places: one of these the traceback must go through; empty for anywhere.
        packages: the class must be defined in one of these; empty for any.
        limit: the process limit that belongs to it, see `TrainerExited.limits`.
        confidence: how sure the match is.
        is_victim: it tells that something else failed, which may be printed too.
    """

    cause: CauseId
    headline: str
    advice: tuple[str, ...]
    message: re.Pattern[str] | None = None
    classes: frozenset[str] = frozenset()
    places: frozenset[Place] = frozenset()
    packages: frozenset[str] = frozenset()
    limit: str = ""
    confidence: float = 0.95
    is_victim: bool = False

    def matches(self, raised: Raised) -> bool:
        """Whether the exception looks like this."""
        if self.classes and not self.classes & raised.names:
            return False
        if self.packages and raised.module.partition(".")[0] not in self.packages:
            return False
        if self.message is not None and not self.message.search(raised.message):
            return False
        return not self.places or bool(self.places & places_of(raised))


def words(*patterns: str) -> re.Pattern[str]:
    """Any of the patterns; messages have many lines."""
    return re.compile("|".join(patterns), re.DOTALL)


def classes(names: str, *more: Iterable[str]) -> frozenset[str]:
    """Class names, separated by blanks, and more of them."""
    return frozenset(names.split()).union(*more)


TENSORFLOW = classes(
    "OpError ResourceExhaustedError InternalError UnknownError AbortedError UnavailableError "
    "InvalidArgumentError NotFoundError PermissionDeniedError FailedPreconditionError "
    "DataLossError OutOfRangeError DeadlineExceededError CancelledError UnimplementedError "
    "AlreadyExistsError UnauthenticatedError"
)
"""The classes of tensorflow.errors, one for each status code."""

XLA = classes("XlaRuntimeError JaxRuntimeError")
"""What JAX raises for any status code; the code begins the message."""

SYSTEM = classes("OSError RuntimeError", TENSORFLOW, XLA)
"""Where the message of an operating system's error may stand in."""
