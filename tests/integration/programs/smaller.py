"""Finds the smallest program that still goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from tests.integration.programs.grammar import Program, fitted

_LISTS = ("holders", "callbacks")
_WHERE = ("endings", "places", "every_steps")


def smallest(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program with every part left out without which it still fails."""
    for candidate in _simpler(program):
        if fails(candidate):
            return smallest(candidate, fails)
    return program


def _simpler(program: Program) -> Iterator[Program]:
    """Programs with one part less."""
    for name in _LISTS:
        parts = getattr(program, name)
        for index in range(len(parts)):
            yield replace(program, **{name: parts[:index] + parts[index + 1 :]})
    if len(program.endings) > 1:
        fewer = replace(program, endings=program.endings[1:], places=program.places[1:])
        yield replace(fewer, changes_early=False)
    plain = Program()
    for field in fields(Program):
        simple = getattr(plain, field.name)
        if field.name in (*_LISTS, *_WHERE) or getattr(program, field.name) == simple:
            continue
        candidate = fitted(replace(program, **{field.name: simple}))
        if candidate != program:
            yield candidate
