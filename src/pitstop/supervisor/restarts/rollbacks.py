"""Back to the last finite checkpoint after a NaN, and smaller steps where memory did not suffice.

What was done is in the journal only, and holds for every later attempt of the run.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import dropwhile, pairwise, takewhile

from pitstop import events, journal
from pitstop.errors import RunFolderUnwritable
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_FAILED, EXIT_STOPPED
from pitstop.journal import Entry, events_of, of_last_attempt
from pitstop.link.settings import MIXED_PRECISION, NOT_DIVIDED, Settings
from pitstop.steps import has_grown
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.history import batch_parts, within_limit
from pitstop.supervisor.stops.stop_condition import NAN_SOURCE

WEIGHTS = "weights"
"""The metric of a `NonFiniteLoss` that tells of weights, looked at after a step."""
_RATE_FACTOR = 0.1
_MOST_IN_A_ROW = 2
_MOST_OF_DATA = 5  # batches in a row that have NaN or infinite values themselves
_GENTLER = ("rate", "clip")
_MOST_RATES = 3
_CLIP_NORM = 1.0
_NEAR_STEPS = 50


def left_out(done: Iterable[events.RolledBack]) -> frozenset[int]:
    """The steps whose batches are left out.

    If the weights are bad after a step, the batch of this step was bad.  The loss of the next step
    may be the first to show it.
    """
    steps: set[int] = set()
    for each in done:
        if each.action == "skip":
            steps -= {each.step + 1} if each.metric == WEIGHTS else set()
            steps.add(each.step)
    return frozenset(steps)


def altered(settings: Settings, done: Sequence[events.RolledBack], *, allowed: bool) -> Settings:
    rates: dict[int, float] = {}
    for each in done:
        rates = {min(step, each.to_step): rate for step, rate in rates.items()}
        rates |= {each.to_step: each.learning_rate} if each.learning_rate else {}
    skips = sorted(left_out(done))
    parts = [f"the batch of step {step} is skipped" for step in skips]
    parts += [
        f"the learning rate is cut to at most {rate:.4g} at step {step}"
        for step, rate in rates.items()
    ]
    clipped = [each.to_step for each in dropwhile(lambda each: each.action != "clip", done)]
    clip_norm = _CLIP_NORM if clipped else 0.0
    from_step = min(clipped, default=0)
    words = f"gradients are clipped to a global norm of {clip_norm:g} from step {from_step} on"
    parts += [words] if clipped else []
    return dataclasses.replace(
        settings,
        rolls_back=allowed,
        skip_steps=tuple(skips),
        rates=tuple(rates.items()),
        clip_norm=clip_norm,
        look_to_step=max((each.step + 1 for each in done), default=0),
        altered=f"--on-nan rollback changed the results: {'; '.join(parts)}" if parts else "",
    )


def decide(
    bad: events.NonFiniteLoss | events.NonFiniteWeights,
    done: Sequence[events.RolledBack],
    entries: Iterable[CheckpointEntry],
    most: int,
    of_data: Set[int] = frozenset(),
) -> events.RolledBack | events.RollbackRefused:
    """What to do about the first bad number of an attempt; `entries`: checkpoints, newest first.

    `of_data`: steps whose batches, left out, have NaN or infinite values themselves.
    """
    if len(done) >= most:
        return events.RollbackRefused(
            f"it was already rolled back {len(done)} times (--rollbacks {most})"
        )
    before_step = _before(bad, done)
    checkpoint, to_step, of_fit = _target(entries, before_step)
    if not of_fit:
        return events.RollbackRefused(
            "this is a custom loop: only batches of model.fit can be skipped"
        )
    metric = bad.metric if isinstance(bad, events.NonFiniteLoss) else WEIGHTS
    place = bad.step, checkpoint, to_step
    back = events.RolledBack(metric, *place, "look", len(done) + 1, most)
    if isinstance(bad, events.NonFiniteLoss):
        return _after_loss(bad, back, done, of_data, is_before=before_step != bad.step)
    if any(each.action == "look" and each.step >= bad.step for each in done):
        return events.RollbackRefused("the step that makes the weights bad was not found")
    return back


def _after_loss(
    bad: events.NonFiniteLoss,
    back: events.RolledBack,
    done: Sequence[events.RolledBack],
    of_data: Set[int],
    *,
    is_before: bool,
) -> events.RolledBack | events.RollbackRefused:
    """`is_before`: the state to go back to lies before the losses that grew."""
    most_in_a_row = _MOST_OF_DATA if bad.step - 1 in of_data else _MOST_IN_A_ROW
    stays_bad = left_out(done).issuperset(range(bad.step - most_in_a_row, bad.step))
    if not is_before and not stays_bad:
        return dataclasses.replace(back, action="skip")
    decision = _gentler(bad, back, done)
    if isinstance(decision, events.RollbackRefused) and bad.step - 1 in of_data:
        last = f"the batch of step {bad.step - 1}, which was skipped, has NaN or infinite values"
        return events.RollbackRefused(f"{last}, and the loss of step {bad.step} is not finite")
    return decision


def _gentler(
    bad: events.NonFiniteLoss, back: events.RolledBack, done: Sequence[events.RolledBack]
) -> events.RolledBack | events.RollbackRefused:
    rate = 0.0 if bad.is_scheduled else bad.learning_rate
    grows = has_grown(bad.recent, bad.last_finite)
    before = [each.action for each in done]
    clips = not bad.unclipped and "clip" not in before
    if clips and (not rate or before.count("rate") >= (_MOST_RATES if grows else 1)):
        return dataclasses.replace(back, action="clip")
    if not grows and done and done[-1].action in _GENTLER and done[-1].step == bad.step:
        again = f"the loss is not finite at step {bad.step} again"
        return events.RollbackRefused(f"{again}; neither the batch nor the rate is the reason")
    if rate:
        return dataclasses.replace(back, action="rate", learning_rate=rate * _RATE_FACTOR)
    rate_kept = "follows a schedule" if bad.is_scheduled else "is not known"
    unclipped = (
        f"its gradients cannot be clipped: {bad.unclipped}"
        if bad.unclipped
        else "clipping the gradients did not help"
    )
    return events.RollbackRefused(f"the learning rate {rate_kept}, and {unclipped}")


def _before(
    bad: events.NonFiniteLoss | events.NonFiniteWeights, done: Sequence[events.RolledBack]
) -> int:
    """The step that the state to go back to must lie before.

    What was saved while the losses grew is of no use; nor is the last target, if a lower rate did
    not help.
    """
    last = done[-1] if done else None
    if last and last.action in _GENTLER and bad.step <= last.step + _NEAR_STEPS:
        return max(min(last.to_step, bad.step), 1)
    if isinstance(bad, events.NonFiniteLoss) and has_grown(bad.recent, bad.last_finite):
        return max(bad.step - len(bad.recent) + 1, 1)
    return bad.step


def _target(entries: Iterable[CheckpointEntry], before_step: int) -> tuple[str, int, bool]:
    """A checkpoint with finite weights, or the beginning of the run: name, step, if of a `fit`."""
    for each in entries:
        info = each.manifest.info if each.manifest else None
        if info and info.step < before_step and not info.non_finite:
            return each.path.name, info.step, bool(info.identity)
    return "", 0, True


class Rollbacks:
    def __init__(self, folder: RunFolder, most: int) -> None:
        self._folder = folder
        self._most = most
        self._refused = False

    def after(
        self, state: State, found: AttemptState, record: Callable[[events.Event], None]
    ) -> bool:
        by_others = state is State.STOPPED and found.stop_sources - {NAN_SOURCE}
        if not self._most or found.bad is None or by_others:
            return False
        catalog = Catalog(self._folder.checkpoints)
        entries = catalog.entries()
        known = journal.read(self._folder.journal).entries
        done = journal.events_of(known, events.RolledBack)
        left = journal.events_of(known, events.BatchSkipped)
        of_data = {each.step for each in left if each.found}
        decision = decide(found.bad, done, entries, self._most, of_data)
        if found.role is not None:
            decision = events.RollbackRefused(
                "it trains together with others, which would not roll back"
            )
        if isinstance(decision, events.RolledBack):
            back = decision
            newer = takewhile(lambda each: each.path.name != back.checkpoint, entries)
            bad = f"the {back.metric} were not finite"
            try:
                # What was saved since, so that the next attempt begins before it.
                for each in newer:
                    reason = f"The run was rolled back to step {back.to_step}: {bad}."
                    catalog.quarantine(each, reason)
            except RunFolderUnwritable as fault:
                decision = events.RollbackRefused(
                    f"a checkpoint cannot be set aside: {fault.message}"
                )
        record(decision)
        self._refused = isinstance(decision, events.RollbackRefused)
        return not self._refused

    def exit_code(self, own: int) -> int:
        """That of the run: it has failed, and a second run would fail in the same way."""
        return EXIT_FAILED if self._refused and own in (EXIT_COMPLETED, EXIT_STOPPED) else own


Measure = (
    events.BuffersReduced | events.PrecisionReduced | events.BatchDivided | events.DivisionRefused
)

WANT_OF_MEMORY = frozenset({"host_oom_killed", "host_alloc_failure", "gpu_oom"})

MOST_PARTS = 64
_STEPPING = ("first_step", "train", "restoring")
_READING = (*_STEPPING, "validation")
_NOT_THE_BATCH = "the batch is not the reason"
_SHUFFLE = re.compile(r"Shuffle \d+")
_MOST_FURTHER = 3  # divisions that may each fail at a later step: batches may differ in size
_SOON_STEPS = 50  # A step that needs too much fails at once, or when it meets the first large batch


def lacked_memory(cause: str, entries: Sequence[Entry]) -> bool:
    """Whether the last attempt, or a data worker of it, failed for lack of memory."""
    own = of_last_attempt(entries)
    kills = sum(each.oom_kills or 0 for each in events_of(own, events.TrainerExited))
    died = any(each.signal == "SIGKILL" for each in events_of(own, events.WorkerDied))
    return cause in WANT_OF_MEMORY or (died and kills > 0)


def divide(cause: str, entries: Sequence[Entry], *, lowers_precision: bool = False) -> Measure:
    own = of_last_attempt(entries)
    exits = events_of(own, events.TrainerExited)
    fits = events_of(own, events.FitStarted)
    held = fits[-1].large_buffers if fits and cause != "gpu_oom" else []
    phase = _phase(own)
    if exits and cause != "gpu_oom":
        limit_bytes = exits[-1].memory_limit_bytes
        if refused := _too_large(limit_bytes, fits) or _not_the_batch(limit_bytes, entries):
            return events.DivisionRefused(refused)
    if held and phase in _READING and not events_of(entries, events.BuffersReduced):
        return events.BuffersReduced(cause, exits[-1].step + 1, held)
    if phase not in _STEPPING:
        return events.DivisionRefused("memory ran out outside a training step")
    begun = max((each.step for each in events_of(own, events.Restored)), default=0)
    steps = exits[-1].step - begun
    if cause == "host_oom_killed" and steps > _SOON_STEPS:
        grew = f"memory use grew for {steps} steps: {_NOT_THE_BATCH}"
        return events.DivisionRefused(grew + _kept_buffer(own))
    # A step that fits once fits again; what runs out later each time is filled by something.
    failed = [*(each.step for each in events_of(entries, events.BatchDivided)), exits[-1].step + 1]
    if len(failed) > _MOST_FURTHER and all(step < later for step, later in pairwise(failed)):
        return events.DivisionRefused(f"memory lasts for more steps each time: {_NOT_THE_BATCH}")
    if lowers_precision and not events_of(entries, events.PrecisionReduced):
        return events.PrecisionReduced(cause, exits[-1].step + 1, MIXED_PRECISION)
    begun_by = events_of(entries, events.FitStarted)
    if all(each.is_loop and not each.data.get(events.IN_PARTS) for each in begun_by):
        return events.DivisionRefused(
            "this is a custom loop, and pitstop.start was not called with in_parts=True"
        )
    return _division(
        cause, exits[-1].step + 1, own, 2 * batch_parts(entries, exits[-1].memory_limit_bytes)
    )


def _too_large(limit_bytes: int | None, fits: Sequence[events.FitStarted]) -> str:
    """Which buffer fills more than the memory, which nothing of ours makes smaller; or empty."""
    shuffle_bytes = fits[-1].shuffle_bytes if fits else 0
    if not limit_bytes or shuffle_bytes < limit_bytes:
        return ""
    shuffle, (size, limit) = _shuffle(fits), (each / 1e6 for each in (shuffle_bytes, limit_bytes))
    helps = "a smaller buffer_size of shuffle() is what helps"
    return f"{shuffle} fills {size:,.0f} MB, and the memory limit is {limit:,.0f} MB; {helps}"


def _not_the_batch(limit_bytes: int | None, entries: Sequence[Entry]) -> str:
    """Why an earlier attempt, with as much memory or more, was not divided; or empty."""
    refused = events_of(within_limit(entries, limit_bytes), events.DivisionRefused)
    kept = (each.reason for each in refused if _NOT_THE_BATCH in each.reason)
    return next(kept, "")


def _phase(own: Sequence[Entry]) -> str:
    """Where the attempt failed; a script that ends by an exception has left its training then."""
    raised, exits = events_of(own, events.ExceptionRaised), events_of(own, events.TrainerExited)
    if not exits:
        return ""
    if raised and not exits[-1].signal:
        return "" if raised[-1].callback else raised[-1].phase
    return exits[-1].phase


def _division(
    cause: str, step: int, own: Sequence[Entry], parts: int
) -> events.BatchDivided | events.DivisionRefused:
    if any(each.code == NOT_DIVIDED for each in events_of(own, events.Notice)):
        return events.DivisionRefused("its batches cannot be computed in parts")
    if parts > MOST_PARTS:
        least = f"even 1/{MOST_PARTS} of a batch needs too much memory"
        return events.DivisionRefused(least + (_kept_buffer(own) if cause != "gpu_oom" else ""))
    return events.BatchDivided(cause, step, parts)


def _kept_buffer(own: Sequence[Entry]) -> str:
    """Which buffer of the host is not made smaller, as a part of a sentence."""
    shuffle = _shuffle(events_of(own, events.FitStarted))
    return f"; {shuffle} keeps its buffer, to keep the order" if shuffle else ""


def _shuffle(fits: Sequence[events.FitStarted]) -> str:
    """As the last pipeline names it; empty for none."""
    found = _SHUFFLE.search(str(fits[-1].data.get("pipeline"))) if fits else None
    return found[0] if found else ""
