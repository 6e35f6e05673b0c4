"""The command of a run, run once more beside it: how it is started, and how it ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from pitstop import journal
from pitstop.engine.export_order import REFUSED
from pitstop.errors import EnvironmentFault, UserError
from pitstop.events import AttemptStarted, ExceptionRaised, InstrumentationUnavailable, Notice
from pitstop.export.host import Outcome, Script
from pitstop.link.settings import ENV_ENTROPY
from pitstop.masking import MASK, masked_words
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.records.fingerprint import hash_seed

_TAIL_LINES = 20


def script_of(folder: RunFolder, attempt: int, log: Path, command: Sequence[str] = ()) -> Script:
    """The run's command as an attempt started it; `command` is the same with its secrets, or empty.

    Raises a `UserError` where it cannot be started where it was, its secrets are not known, or the
    command is not the run's.
    """
    identity = folder.identity
    if not Path(identity.cwd).is_dir():
        raise UserError(
            f"The run's command was started in {identity.cwd}, which is gone.",
            "Make the folder again.",
        )
    launched = _was_launched(folder, attempt)
    seeds = {ENV_ENTROPY: identity.entropy, **hash_seed(identity.entropy, os.environ, {})}
    environment = {**os.environ, **seeds}
    return Script(_whole(identity.command, command), Path(identity.cwd), environment, log, launched)


def _whole(kept: tuple[str, ...], given: Sequence[str]) -> tuple[str, ...]:
    """The run's command with its secrets, if it has any."""
    if given and tuple(masked_words(given)) != kept:
        raise UserError("This is not the run's command.", f"Name it as it was: {shlex.join(kept)}")
    if not given and any(MASK in word for word in kept):
        raise UserError(
            "The run's command holds a secret, which its folder does not keep.",
            f"Name the command once more, with the secret, behind `--`: -- {shlex.join(kept)}",
        )
    return tuple(given) or kept


def failure(outcome: Outcome, log: Path, remedy: str) -> UserError | EnvironmentFault:
    """Why a script has not done what it was run for; where it does not say, how it ended."""
    for event in outcome.events:
        if isinstance(event, Notice) and event.code in (REFUSED, "resume_refused"):
            return UserError(event.message, event.remedy)
        if isinstance(event, InstrumentationUnavailable):
            return EnvironmentFault(event.reason, event.remedy)
    raised = [each for each in outcome.events if isinstance(each, ExceptionRaised)]
    why = f" ({raised[-1].class_name}: {raised[-1].message})" if raised else ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    tail = "\n".join(lines[-_TAIL_LINES:])
    end = f"with code {outcome.exit_code} before that{why}. The end of its output:\n{tail}\n"
    return UserError(f"The script ended {end}", remedy)


def _was_launched(folder: RunFolder, attempt: int) -> bool:
    for entry in journal.read(folder.journal).entries:
        if entry.attempt == attempt and isinstance(entry.event, AttemptStarted):
            return entry.event.launched
    return True
