"""The installed package that this process runs: it is the user's, unlike all others."""

import functools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def is_installed(file: str) -> bool:
    return any(folder in file for folder in _INSTALLED)


def is_of_program(file: str) -> bool:
    """Whether a file is in the package of `python -m package`, or of a console script."""
    if not is_installed(file):
        return False
    package = package_of(tuple(sys.orig_argv[1:]))
    ends = (os.sep, ".py") if package else ()
    return any(f"{folder}{package}{end}" in file for folder in _INSTALLED for end in ends)


@functools.lru_cache(maxsize=8)
def package_of(arguments: Sequence[str]) -> str:
    """The package that these arguments of Python run; empty for a script or a text."""
    left = iter(arguments)
    for argument in left:
        if argument.startswith("-m"):
            return (argument[2:] or next(left, "")).partition(".")[0]
        if argument in _WITH_VALUE:
            next(left, "")
        elif argument == "-c" or not argument.startswith("-"):
            return next(_packages_of_script(argument), "")
    return ""


def _packages_of_script(path: str) -> Iterator[str]:
    # Each Python process of a run loads this module.
    from sysconfig import get_path  # noqa: PLC0415

    if os.path.realpath(Path(path).parent) == os.path.realpath(get_path("scripts")):
        from importlib.metadata import entry_points  # noqa: PLC0415

        for each in entry_points(group="console_scripts", name=Path(path).name):
            yield each.module.partition(".")[0]
