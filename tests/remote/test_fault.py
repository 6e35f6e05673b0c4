"""Errors of storage libraries in the user's words."""

from __future__ import annotations

import errno

import botocore.exceptions
import pytest

from pitstop.remote.fault import explain

_URL = "s3://bucket/cnn"


class _HttpError(Exception):
    """As gcsfs raises it."""

    code = 403


@pytest.mark.parametrize(
    ("error", "needs_user", "words"),
    [
        (PermissionError("Forbidden"), True, "Access to s3://bucket/cnn is denied: Forbidden."),
        (_HttpError("no"), True, "is denied: no."),
        (botocore.exceptions.NoCredentialsError(), True, "no valid credentials"),
        (FileNotFoundError("no such bucket"), True, "no such bucket"),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="x"), False, "be reached"),
        (OSError(errno.EBUSY, "Please reduce your request rate."), False, "request rate"),
        (OSError(errno.ENOSPC, "No space left on device"), False, "the disk is full"),
        (TimeoutError(), False, "TimeoutError"),
    ],
)
def test_what_an_error_means(error: Exception, needs_user: bool, words: str) -> None:
    fault = explain(error, _URL)
    assert fault.needs_user is needs_user
    assert words in fault.message
    assert fault.message.endswith(".")
    assert not fault.message.endswith("..")
    assert fault.remedy
