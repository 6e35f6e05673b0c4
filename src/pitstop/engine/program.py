"""Whose a file is: of Pitstop, of an installed package, or of the one that this process runs.

The last is the user's, unlike all other packages.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_OWN = str(Path(__file__).parents[1]) + os.sep
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
MOST_FILES = 1 << 14  # a process imports some 4,000 files with TensorFlow
TEXT, STDIN = "<string>", "<stdin>"  # files of code that is in none
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def is_own_file(file: str) -> bool:
    return file.startswith(_OWN)


def is_installed(file: str) -> bool:
    return bool(_packages_around(file))


def is_of_program(file: str) -> bool:
    """Whether a file is in the package of `python -m package`, or of a console script."""
    folder = _packages_around(file)
    package = package_of(tuple(sys.orig_argv[1:])) if folder else ""
    inside = file.removeprefix(folder)
    return bool(package) and inside.startswith((f"{package}{os.sep}", f"{package}.py"))


@functools.lru_cache(maxsize=MOST_FILES)
def _packages_around(file: str) -> str:
    """The folder of installed packages that has a file; empty for other files."""
    for name in _INSTALLED:
        before, found, _ = file.partition(name)
        if found:
            return before + found
    for folder in (f"{entry.rstrip(os.sep)}{os.sep}" for entry in sys.path if entry):
        inside = file.removeprefix(folder)
        if inside != file and inside.partition(os.sep)[0] in _installed_in(folder):
            return folder
    return ""


@functools.lru_cache(maxsize=64)
def _installed_in(folder: str) -> frozenset[str]:
    """What installers wrote into a folder (`pip install --target`), by the names of its entries.

    RECORD has a line for each file: https://packaging.python.org/specifications/recording-installed-packages/
    """
    names = set[str]()
    # Not by `pathlib`: what calls of the standard library look at is asked whose it is, by this.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".dist-info"):
                names |= _names_in(f"{entry.path}/RECORD")
    return frozenset(names)


def _names_in(record: str) -> set[str]:
    try:
        with open(record, encoding="utf-8") as lines:  # noqa: PTH123  see `_installed_in`
            return {line.partition(",")[0].partition("/")[0] for line in lines}
    except (OSError, UnicodeDecodeError):
        return set()


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
