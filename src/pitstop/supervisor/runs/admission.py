"""The differences between two commands, and whether a run continues with another command."""

import os
import re
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path, PurePath

from pitstop import journal
from pitstop.cluster.spec import EVALUATOR, ClusterSpec, own_cluster, own_task
from pitstop.engine.files.file_access import changed_seconds
from pitstop.engine.trainings.identity import Difference
from pitstop.errors import UserError
from pitstop.events import AttemptStarted, EnvironmentChanged, JsonValue, TrainerConnected
from pitstop.journal import last_of
from pitstop.masking import masked_words
from pitstop.record import Frozen
from pitstop.store.catalog import Catalog
from pitstop.store.gang_folder import MEMBERS_DIR
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.processes.invocation import Invocation, InvocationKind, parse
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.runs.run_request import RunRequest
from pitstop.supervisor.status import has_completed, is_completed

_OPTION = re.compile(r"-{1,2}[A-Za-z]")
_NONE = "nothing"
WORKING_FOLDER = "the working folder"
_Group = tuple[str, ...]


class StartedCommand(Frozen):
    """What was started, and where; empty where it was not recorded."""

    words: tuple[str, ...]
    cwd: str = ""
    host: str = ""
    script: str = ""  # absolute path, without links
    script_digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # digests of small files in the command

    @cached_property
    def invocation(self) -> Invocation:
        return parse(self.words)


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


def changes(before: StartedCommand, now: StartedCommand, *, moved: bool) -> tuple[Difference, ...]:
    """The differences; if the run or its project has `moved`, paths are not compared."""
    one, other = before.invocation, now.invocation
    found = list(_of_target(before, now, moved=moved))
    if not moved and before.cwd and before.cwd != now.cwd:
        found.append(Difference(WORKING_FOLDER, before.cwd, now.cwd))
    found += _of_words("Python's options", one.options, other.options)
    found += _of_words("variables", one.variables, other.variables)
    found += _of_arguments(one.arguments, other.arguments)
    return tuple(found)


def same_target(before: StartedCommand, now: StartedCommand, *, moved: bool) -> bool:
    return not list(_of_target(before, now, moved=moved))


def in_words(found: Sequence[Difference]) -> str:
    return "; ".join(
        f"{each.name}: {each.before or _NONE} -> {each.now or _NONE}" for each in found
    )


def as_event(found: Sequence[Difference]) -> tuple[EnvironmentChanged, ...]:
    """The event that says that another command continues the run."""
    if not found:
        return ()
    before = "; ".join(f"{each.name} {each.before or _NONE}" for each in found)
    now = "; ".join(f"{each.name} {each.now or _NONE}" for each in found)
    return (EnvironmentChanged(fingerprint.COMMAND, before, now, True),)


def _of_target(before: StartedCommand, now: StartedCommand, *, moved: bool) -> Iterator[Difference]:
    one, other = before.invocation, now.invocation
    scripts = one.kind is other.kind is InvocationKind.SCRIPT
    if scripts and before.script and now.script:
        if not _same_script(before, now, moved=moved):
            yield Difference("the script", before.script, now.script)
    elif _named(one) != _named(other):
        yield Difference(f"the {other.kind.value}", one.target, other.target)


def _named(invocation: Invocation) -> str:
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
            yield Difference("the arguments", _joined(one[i:j]), _joined(other[k:m]))


def _options(words: Sequence[str]) -> list[_Group]:
    """The words, each option with the values after it."""
    groups: list[_Group] = []
    for word in words:
        last = groups[-1][0] if groups else ""
        if not _OPTION.match(word) and _OPTION.match(last) and "=" not in last:
            groups[-1] = (*groups[-1], word)
        else:
            groups.append((word,))
    return groups


def _joined(groups: Sequence[_Group]) -> str:
    return shlex.join(word for group in groups for word in group)


class CommandChanged(UserError):
    """The folder holds a run of another command."""


def present_command(words: Sequence[str]) -> StartedCommand:
    return command_of(masked_words(words), socket.gethostname(), fingerprint.sources(words))


def command_of_run(folder: RunFolder) -> StartedCommand:
    made_for, cwd = folder.identity.command, folder.identity.cwd
    last = last_of(journal.read(folder.journal).entries, AttemptStarted)
    if last is None:
        script = fingerprint.find_script(made_for, Path(cwd))
        return command_of(
            made_for, "", {"cwd": cwd, "script": (str(script.resolve()) if script else "")}
        )
    started = command_of(last.command, last.host, last.environment)
    return started if started.cwd else replace(started, cwd=cwd)


def changes_since(
    folder: RunFolder, now: StartedCommand, *, mirrored: bool = False
) -> tuple[Difference, ...]:
    before = command_of_run(folder)
    return changes(before, now, moved=is_moved(before, now, mirrored=mirrored))


def changes_of(request: RunRequest, folder: RunFolder) -> tuple[Difference, ...]:
    now = present_command(request.command)
    return changes_since(folder, now, mirrored=bool(request.mirror))


def is_moved(before: StartedCommand, now: StartedCommand, *, mirrored: bool) -> bool:
    """Whether the run's project lies elsewhere than it did, so that its paths say nothing."""
    elsewhere = bool(before.host) and before.host != now.host
    gone = not Path(before.script or before.cwd or "/").exists()
    return mirrored or elsewhere or gone


def admit(request: RunRequest, folder: RunFolder) -> None:
    """Raises `CommandChanged` where the saved state is another command's, without --take."""
    # Each training of a notebook is known by what it is, whichever kernel runs it.
    meant = request.kernel or request.settings.take or request.settings.force
    found = () if meant else changes_of(request, folder)
    completed = bool(found) and is_completed(journal.read(folder.journal).entries)
    if completed or (found and Catalog(folder.checkpoints).entries()):
        raise CommandChanged(
            f"{folder.path} belongs to a run of a different command ({in_words(found)}).",
            _ways_on(found, launched=not request.trainer_pid),
        )


def is_finished(request: RunRequest, folder: RunFolder) -> bool:
    """Whether the command has trained to its end, and would only do the same once more."""
    entries = journal.read(folder.journal).entries
    if not is_completed(entries) or request.trainer_pid or request.settings.take:
        return False
    if _is_evaluated_on(request.run_dir.absolute()):
        return False
    before, now = command_of_run(folder), present_command(request.command)
    same_script = not before.script_digest or before.script_digest == now.script_digest
    connected = last_of(entries, TrainerConnected)
    modules = connected.sources.items() if connected else ()
    same_modules = all(fingerprint.digest_of(Path(path)) == digest for path, digest in modules)
    ended_seconds = entries[-1].time_seconds
    named = any(
        now.files.get(name) != digest and changed_seconds(name) > ended_seconds
        for name, digest in before.files.items()
    )
    edited = named or bool(fingerprint.EditedFiles.from_entries(entries).since_last)
    # With --force it may be another command.
    return same_script and same_modules and not edited and not changes_of(request, folder)


def _is_evaluated_on(run_dir: Path) -> bool:
    """Whether it is an evaluator, whose leader in the same launch will save more."""
    task, leader = own_task(os.environ), ClusterSpec.from_json(own_cluster(os.environ)).leader
    if task is None or task.kind != EVALUATOR or leader is None:
        return False
    return (
        run_dir.parent.name == MEMBERS_DIR and has_completed(leader, run_dir.parent.parent) is False
    )


def _ways_on(found: Sequence[Difference], *, launched: bool) -> str:
    if not launched:
        return "Give each command its own folder, or start this one with `pitstop run --take`."
    folders = [each.before for each in found if each.name == WORKING_FOLDER]
    back = f"Start it in {folders[0]}; or use" if folders else "Use"
    return (
        f"{back} another folder with --run-dir, start over with --new, or resume with --take all, "
        "or with --take NAME for each hyperparameter to change."
    )
