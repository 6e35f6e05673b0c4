"""What `pitstop find-nan` does: runs a step of a run again on a copy of its saved state."""

from collections.abc import Sequence
from contextlib import ExitStack, closing

from pitstop import events, journal
from pitstop.errors import CheckpointCorrupt, UserError
from pitstop.export import host
from pitstop.export.host import Host, Say, Source, choose
from pitstop.journal import Entry, Journal, with_attempts
from pitstop.link.settings import Settings
from pitstop.record import Frozen
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import FOUND_FILE, RunFolder

_REMEDY = "Run it as before: with the same command, folder and data."


class Found(Frozen):
    """What the step showed; the script went on from the saved state of `from_step`, 0 for none."""

    located: events.NonFiniteLocated
    attempt: int
    from_step: int


def find_nan(folder: RunFolder, step: int, say: Say, command: Sequence[str] = ()) -> Found:
    """Runs the run's `command` up to a step, and that layer by layer; records what it showed.

    `step` counts from 1 over the whole run; 0 for that of the first bad loss. Raises
    `EnvironmentFault`, or a `UserError` where no step can be looked at.
    """
    attempt, wanted = _target(journal.read(folder.journal).entries, step)
    with ExitStack() as stack:
        source = _state_before(folder, wanted, say)
        if source is not None:
            stack.enter_context(closing(source))
        from_step = source.manifest.info.step if source else 0
        place = f"the checkpoint of step {from_step:,}" if from_step else "its beginning"
        say(f"running the script from {place} up to step {wanted:,}.")
        script = host.script_of(folder, attempt, command)
        outcome = Host(Settings(find_nan_step=wanted), source).run(script)
        located = [each for each in outcome.events if isinstance(each, events.NonFiniteLocated)]
        if not located:
            raise host.failure(outcome, _REMEDY)
    with Journal(folder.attempt_dir(attempt) / FOUND_FILE, attempt) as found:
        found.append(located[-1])
    return Found(located[-1], attempt, from_step)


def _target(entries: tuple[Entry, ...], step: int) -> tuple[int, int]:
    bad = with_attempts(entries, events.NonFiniteLoss)
    fits = with_attempts(entries, events.FitStarted)
    if not entries:
        raise UserError("The run has no journal: nothing is known about it.")
    if not bad and not step:
        raise UserError(
            "No loss of this run was NaN or infinite.", "Give the step to examine with --step."
        )
    attempt, first = bad[-1] if bad else (entries[-1].attempt, None)
    if any(number == attempt and each.is_loop for number, each in fits):
        raise UserError(
            "The training is a custom loop, whose steps only the script knows.",
            "Call `tf.debugging.enable_check_numerics()` in a copy of it, and run the copy.",
        )
    return attempt, step or (first.step if first else 0)


def _state_before(folder: RunFolder, step: int, say: Say) -> Source | None:
    """The newest good checkpoint from two steps before a step, or one; None where there is none."""
    saved = [
        (each.manifest.info.step, each.path.name)
        for each in Catalog(folder.checkpoints).entries()
        if each.manifest is not None and each.manifest.info.step < step
    ]
    for _, name in sorted(saved, key=lambda each: each[0] == step - 1):
        try:
            return choose(folder, name, say)
        except CheckpointCorrupt as damage:
            say(f"{name} is damaged ({damage.reason}); using the one before it.")
    return None
