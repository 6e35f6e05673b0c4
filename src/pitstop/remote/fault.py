"""What an error of a storage library means, and what to do about it.

The libraries behind fsspec share no base class and must not be imported to name
theirs, so those that are not OSErrors are known by the names of their classes.
"""

from __future__ import annotations

import errno

from pitstop.errors import EnvironmentFault
from pitstop.store import disk_fault

_CREDENTIALS = frozenset(
    {
        "ClientAuthenticationError",  # azure.core
        "CredentialRetrievalError",  # botocore, and the next five
        "NoAuthTokenError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
        "DefaultCredentialsError",  # google.auth, and the next
        "RefreshError",
    }
)
_REFUSALS = frozenset({401, 403})
_ACCESS_REMEDY = (
    "Check the credentials and that they allow to list, read, write and delete there; for s3://: "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws."
)
_OF_OUR_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_MOST_CHARACTERS = 200


class StorageFault(EnvironmentFault):
    """The storage behind a URL cannot be used, for a while or until the user acts."""

    def __init__(self, message: str, remedy: str = "", *, needs_user: bool = False) -> None:
        super().__init__(message, remedy)
        self.needs_user = needs_user


def explain(error: Exception, url: str) -> StorageFault:
    """The fault that an exception of a storage library stands for."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & _CREDENTIALS:
        message = f"There are no valid credentials for {url}: {_first_line(error)}."
        return StorageFault(message, _ACCESS_REMEDY, needs_user=True)
    if isinstance(error, PermissionError) or getattr(error, "code", None) in _REFUSALS:
        message = f"Access to {url} is denied: {_first_line(error)}."
        return StorageFault(message, _ACCESS_REMEDY, needs_user=True)
    if isinstance(error, OSError) and error.errno in _OF_OUR_DISK:
        fault = disk_fault.explain(error)
        return StorageFault(f"{url} cannot be fetched: {fault.cause}.", fault.remedy)
    if isinstance(error, FileNotFoundError):
        message = f"{url} cannot be written: {_first_line(error)}."
        return StorageFault(message, "Create the bucket, or fix the URL.", needs_user=True)
    return StorageFault(
        f"{url} cannot be reached: {_first_line(error)}.", "Check the network and the server."
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:_MOST_CHARACTERS].rstrip(". ")
