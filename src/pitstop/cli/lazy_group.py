"""A group of commands that imports only the one that is called."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click


class LazyGroup(click.Group):
    """Each command lies in a module of its own, and has its name: `find-nan` in `find_nan`."""

    def __init__(self, *arguments: Any, package: str, names: Sequence[str], **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._package = package
        self._names = list(names)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self._names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"{self._package}.{name}"), name)
        return command
