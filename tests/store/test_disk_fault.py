"""Errors of the disk in plain words."""

from __future__ import annotations

import errno
import os

import pytest

from pitstop.store.disk_fault import explain


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
        (errno.EPERM, "no permission"),
        (errno.EMFILE, "the process has too many open files"),
        (errno.ENFILE, "the machine has too many open files"),
        (errno.EFBIG, "file size limit"),
        (errno.EIO, "input/output error"),
        (errno.ENOENT, "folder is gone"),
        (errno.ENOTDIR, "is a file"),
        (errno.ESTALE, "network file system"),
        (errno.ENOLCK, "no locks"),
        (errno.ENAMETOOLONG, "too long"),
        (errno.EXDEV, os.strerror(errno.EXDEV)),
    ],
)
def test_every_cause_has_words_and_a_remedy(number: int, cause: str) -> None:
    fault = explain(OSError(number, "x"))
    assert cause in fault.cause
    assert fault.remedy.endswith(".")


def test_an_error_without_a_number_is_explained_too() -> None:
    assert explain(OSError("odd")).remedy
