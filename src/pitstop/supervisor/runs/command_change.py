"""In what two commands differ.  Pure."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath

from pitstop.engine.identity import Difference
from pitstop.events import AttemptStarted, EnvironmentChanged, JsonValue, TrainerConnected
from pitstop.journal import Entry, events_of
from pitstop.record import record
from pitstop.supervisor.processes.invocation import Invocation, InvocationKind, parse
from pitstop.supervisor.records.fingerprint import COMMAND

_OPTION = re.compile(r"-{1,2}[A-Za-z]")
_NONE = "nothing"
WORKING_FOLDER = "the working folder"
_Group = tuple[str, ...]


@record
class StartedCommand:
    """What was started, where; empty where it is not on record.

    `script`: its absolute path without links.  `files`: digests of small files that the command
    names.
    """

    words: tuple[str, ...]
    cwd: str = ""
    host: str = ""
    script: str = ""
    script_digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def command_of(
    words: Sequence[str], host: str, environment: Mapping[str, JsonValue]
) -> StartedCommand:
    files = environment.get("files")
    return StartedCommand(
        tuple(words),
        str(environment.get("cwd", "")),
        host,
        str(environment.get("script", "")),
        str(environment.get("script_sha256", "")),
        {name: str(each) for name, each in files.items()} if isinstance(files, dict) else {},
    )


def last_command(entries: Sequence[Entry]) -> StartedCommand | None:
    started = events_of(entries, AttemptStarted)
    if not started:
        return None
    return command_of(started[-1].command, started[-1].host, started[-1].environment)


def modules_of(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Digests of the script's own modules in the last attempt, by path."""
    connected = events_of(entries, TrainerConnected)
    return connected[-1].sources if connected else {}


def changes(before: StartedCommand, now: StartedCommand, *, moved: bool) -> tuple[Difference, ...]:
    """What differs; where the run or its project has `moved`, paths say nothing."""
    one, other = parse(before.words), parse(now.words)
    found = list(_of_target(before, one, now, other, moved=moved))
    if not moved and before.cwd and before.cwd != now.cwd:
        found.append(Difference(WORKING_FOLDER, before.cwd, now.cwd))
    found += _of_words("Python's options", one.options, other.options)
    found += _of_words("variables", one.variables, other.variables)
    found += _of_arguments(one.arguments, other.arguments)
    return tuple(found)


def same_target(before: StartedCommand, now: StartedCommand, *, moved: bool) -> bool:
    one, other = parse(before.words), parse(now.words)
    return not list(_of_target(before, one, now, other, moved=moved))


def in_words(found: Sequence[Difference]) -> str:
    return "; ".join(
        f"{each.name}: {each.before or _NONE} -> {each.now or _NONE}" for each in found
    )


def as_event(found: Sequence[Difference]) -> tuple[EnvironmentChanged, ...]:
    """The event of another command that is taken all the same."""
    if not found:
        return ()
    before = "; ".join(f"{each.name} {each.before or _NONE}" for each in found)
    now = "; ".join(f"{each.name} {each.now or _NONE}" for each in found)
    return (EnvironmentChanged(COMMAND, before, now, True),)


def _of_target(
    before: StartedCommand,
    one: Invocation,
    now: StartedCommand,
    other: Invocation,
    *,
    moved: bool,
) -> Iterator[Difference]:
    scripts = one.kind is other.kind is InvocationKind.SCRIPT
    if scripts and before.script and now.script:
        if not _same_script(before, now, moved=moved):
            yield Difference("the script", before.script, now.script)
    elif _named(one) != _named(other):
        yield Difference(f"the {other.kind.value}", one.target, other.target)


def _named(invocation: Invocation) -> str:
    """What a target is called, where no path is known."""
    programs = (InvocationKind.SCRIPT, InvocationKind.PROGRAM)
    return PurePath(invocation.target).name if invocation.kind in programs else invocation.target


def _same_script(before: StartedCommand, now: StartedCommand, *, moved: bool) -> bool:
    if before.script == now.script:
        return True
    if not moved:
        return False
    place = os.path.relpath(before.script, before.cwd) == os.path.relpath(now.script, now.cwd)
    return place and (before.script_digest == now.script_digest or before.host != now.host)


def _of_words(what: str, before: Sequence[str], now: Sequence[str]) -> list[Difference]:
    if tuple(before) == tuple(now):
        return []
    return [Difference(what, shlex.join(before), shlex.join(now))]


def _of_arguments(before: Sequence[str], now: Sequence[str]) -> Iterator[Difference]:
    import difflib

    one, other = _options(before), _options(now)
    for kind, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from _of_stretch(one[i:j], other[k:m])


def _of_stretch(before: Sequence[_Group], now: Sequence[_Group]) -> Iterator[Difference]:
    names = [_name(group) for group in before]
    if all(names) and names == [_name(group) for group in now]:
        for name, one, other in zip(names, before, now, strict=True):
            yield Difference(name, _value(one), _value(other))
    else:
        yield Difference("the arguments", _joined(before), _joined(now))


def _joined(groups: Sequence[_Group]) -> str:
    return shlex.join(word for group in groups for word in group)


def _name(group: _Group) -> str:
    return group[0].partition("=")[0] if _OPTION.match(group[0]) else ""


def _value(group: _Group) -> str:
    _, _, value = group[0].partition("=")
    return shlex.join((value, *group[1:]) if value else group[1:])


def _options(words: Sequence[str]) -> list[_Group]:
    """The words, each option with the values behind it."""
    groups: list[_Group] = []
    for word in words:
        last = groups[-1][0] if groups else ""
        if not _OPTION.match(word) and _OPTION.match(last) and "=" not in last:
            groups[-1] = (*groups[-1], word)
        else:
            groups.append((word,))
    return groups
