"""Defaults of options in the working folder: pitstop.toml, or a table of pyproject.toml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pitstop.errors import UserError

_FILES: Mapping[str, tuple[str, ...]] = {"pitstop.toml": (), "pyproject.toml": ("tool", "pitstop")}
_OF_ONE_CALL = frozenset({"new", "take", "force", "dry-run"})


def defaults(command: click.Command, folder: Path) -> dict[str, Any]:
    """The defaults of the first file, by the names of click's parameters; else `UserError`."""
    place, values = _read(folder)
    options = {
        max(each.opts, key=len).removeprefix("--"): each
        for each in command.params
        if isinstance(each, click.Option) and each.expose_value and not each.hidden
    }
    found = {}
    for key, value in values.items():
        option = options.get(key)
        if option is None:
            raise UserError(f"{place}: no such option: {key}.", _nearest(key, options))
        if key in _OF_ONE_CALL:
            raise UserError(f"{place}: {key} cannot be set in a file.", f"Use the option --{key}.")
        found[str(option.name)] = _checked(command, option, f"{place}: {key}", value)
    return found


def shown(folder: Path) -> str:
    """The file and its settings in one line; empty for none."""
    place, values = _read(folder)
    return f"{place}: {', '.join(f'{k} = {v}' for k, v in values.items())}" if values else ""


def _read(folder: Path) -> tuple[str, Mapping[str, Any]]:
    for name, tables in _FILES.items():
        if not (folder / name).is_file():
            continue
        import tomllib

        try:
            values = tomllib.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{name} cannot be read: {error}.") from error
        for table in tables:
            values = values.get(table, {})
        if values:
            return name, values
    return "", {}


def _nearest(key: str, options: Mapping[str, click.Option]) -> str:
    import difflib

    near = difflib.get_close_matches(key, options.keys() - _OF_ONE_CALL, n=1, cutoff=0.0)
    return f"Did you mean {near[0]}?"


def _checked(command: click.Command, option: click.Option, key: str, value: Any) -> Any:
    """The value as the command line gives it: a bool for a flag, else strings."""
    context = click.Context(command, resilient_parsing=True)
    words: list[str] = []
    if option.is_flag and not isinstance(value, bool):
        raise UserError(f"{key} = {value!r}: must be true or false.")
    if not option.is_flag:
        given = value if option.multiple and isinstance(value, list) else [value]
        if not all(type(each) in (str, int, float) for each in given):
            raise UserError(f"{key} = {value!r} is not a valid value; see --help-all.")
        words = [str(each) for each in given]
    try:
        found = value if option.is_flag else words if option.multiple else words[0]
        option.type_cast_value(context, found)
    except click.BadParameter as error:
        raise UserError(f"{key} = {value!r}: {error.message}") from error
    return found
