"""The command of a run, run once more beside it: how it is started, and how it ended."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop import journal
from pitstop.errors import UserError
from pitstop.events import AttemptStarted, ExceptionRaised
from pitstop.export.host import Outcome, Script
from pitstop.link.settings import ENV_ENTROPY
from pitstop.masking import MASK
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.runs.entropy import hash_seed

_TAIL_LINES = 20


class WorkFolderGone(UserError):
    """The folder that the run's command was started in is gone."""


class CommandMasked(UserError):
    """The run's command is not kept as it was, for it holds a secret."""


def script_of(folder: RunFolder, attempt: int, log: Path) -> Script:
    """The run's command as an attempt started it.

    Args:
        folder: the run.
        attempt: number of the attempt that is repeated.
        log: the file that gets what it prints.

    Raises:
        WorkFolderGone: it cannot be started where it was.
        CommandMasked: its secrets are not known.
    """
    identity = folder.identity
    if not Path(identity.cwd).is_dir():
        raise WorkFolderGone(
            f"The run's command was started in {identity.cwd}, which is gone.",
            "Make the folder again.",
        )
    if any(MASK in word for word in identity.command):
        raise CommandMasked(
            "The run's command holds a secret, which its folder does not keep.",
            "Give the secret to the script by an environment variable, and start a run anew.",
        )
    launched = _was_launched(folder, attempt)
    seeds = {ENV_ENTROPY: identity.entropy, **hash_seed(identity.entropy, os.environ, {})}
    environment = {**os.environ, **seeds}
    return Script(identity.command, Path(identity.cwd), environment, log, launched)


def describe_end(outcome: Outcome, output: str) -> str:
    """How a script ended that did not do what it was run for, and its last lines."""
    raised = [each for each in outcome.events if isinstance(each, ExceptionRaised)]
    why = f" ({raised[-1].class_name}: {raised[-1].message})" if raised else ""
    tail = "\n".join(output.splitlines()[-_TAIL_LINES:])
    return f"with code {outcome.exit_code} before that{why}. The end of its output:\n{tail}\n"


def _was_launched(folder: RunFolder, attempt: int) -> bool:
    """Whether an attempt was started by `pitstop run`."""
    for entry in journal.read(folder.journal).entries:
        if entry.attempt == attempt and isinstance(entry.event, AttemptStarted):
            return entry.event.launched
    return True
