"""Loading restore points while the trainer is still starting."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from pitstop.events import Notice, ResumeChosen
from pitstop.link.messages import ImageAnswer, Load, NoImage, RestoreRequest
from pitstop.link.wire import Connection, Received, close_all
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.manifest import Manifest
from pitstop.supervisor.helpers.helper_link import PersisterLink
from pitstop.supervisor.lifecycle.occurrences import Occurrence, TrainerCameIn
from pitstop.supervisor.processes.trainer_slot import RestorePoints, TrainerSlot

_AGREE = "Restore the members' run folders, or start all members over with --new."
_NOBODY_LOADS = "the process that loads it keeps dying"


def restore_points(entries: Iterable[CheckpointEntry], newest: str) -> RestorePoints:
    """The states to restore: of each training its newest, which is its end where it has one.

    `newest`, the one that was loaded, comes last; newer ones are not considered.  States of
    trainings that did not end are kept too: a script may come back to them.  Those of loops are
    not.
    """
    good = sorted(
        ((entry.path.name, entry.manifest) for entry in entries if entry.manifest),
        key=lambda pair: pair[1].sequence,
    )
    last = next((manifest for name, manifest in good if name == newest), None)
    if last is None:
        return ()
    states: dict[int, tuple[str, Manifest]] = {}
    for name, manifest in good:
        counts = manifest.info.milestone or manifest.info.identity or manifest is last
        if counts and manifest.sequence <= last.sequence:
            states[manifest.info.fit] = name, manifest
    states.pop(last.info.fit, None)
    chosen = [*(states[fit] for fit in sorted(states)), (newest, last)]
    return tuple((name, manifest.info) for name, manifest in chosen)


def held_by_all(points: RestorePoints, common: Collection[str]) -> RestorePoints:
    """Without ends that others have not saved: which are worth it is decided by the clock.

    All members train again what one of them has to, as after ends that no member has saved.
    """
    kept = tuple(point for point in points if point[0] in common)
    if len(kept) == len(points):
        return points
    *earlier, (name, newest) = kept
    if newest.identity and not newest.identity.get("left_out"):
        newest = replace(newest, identity={**newest.identity, "left_out": 1})
    return (*earlier, (name, newest))


@dataclass(eq=False)
class Restoring:
    """Asks the persister for images, and lets the trainer begin when they are known.

    The newest checkpoint is loaded before the trainer asks; `ready`: that has succeeded or failed.
    One that cannot be read stays a restore point: the trainer is told the reason, and does not
    start from the beginning.
    """

    _catalog: Catalog
    _persister: PersisterLink
    _trainer_slot: TrainerSlot

    def __post_init__(self) -> None:
        self._preloaded: Received | None = None
        self._asking: Connection | None = None
        self._wanted = ""
        self._awaits_agreement = False
        self._verdicts: dict[str, bool] = {}
        self._verifying = self._refusal = ""
        self._is_refused = False
        self.ready = False
        self.points: RestorePoints = ()

    def begin(self) -> Iterable[Occurrence]:
        if not self._catalog.entries():
            return self._become_ready()
        self._persister.send(Load(""))
        return ()

    def came_in(self, _: TrainerCameIn) -> None:
        if self.ready and not self._awaits_agreement:
            self._trainer_slot.welcome(self.points)

    # -- of a member of a gang: its trainer begins when all have agreed on a state ---------------

    def await_agreement(self) -> bool:
        self._awaits_agreement = not self._trainer_slot.welcomed
        return self._awaits_agreement

    def verdict(self, name: str) -> bool | None:
        """Whether a checkpoint is whole; None while it is read for that."""
        if not name:
            return False
        if self._preloaded is not None and self._preloaded.message == ImageAnswer(name):
            self._verdicts.setdefault(name, True)
        elif name not in self._verdicts and name != self._verifying:
            self._verifying = name
            self._persister.send(Load(name))
        return self._verdicts.get(name)

    def agreed(
        self, name: str, gang: str, doubt: str, common: Collection[str]
    ) -> Iterator[Occurrence]:
        """`common`: the checkpoints of states that all members hold."""
        self.points = restore_points(self._catalog.entries(), name) if name else ()
        self.points = held_by_all(self.points, {name, *common})
        self._awaits_agreement = False
        self._trainer_slot.terms = replace(self._trainer_slot.terms, gang=gang, doubt=doubt)
        yield from self._let_in()

    def agreed_on_nothing(
        self, reason: str, *, is_refused: bool = False, doubt: str = ""
    ) -> Iterator[Occurrence]:
        """The trainer goes on alone.  With a `reason`, it may not if it has a state.

        `is_refused`: it may not even without a state.  `doubt`: why it is not exact, if known.
        """
        self._awaits_agreement = False
        self._trainer_slot.terms = replace(self._trainer_slot.terms, doubt=doubt)
        self._refusal, self._is_refused = reason, is_refused
        if self.ready:
            yield from self._let_in()

    def requested(self, request: RestoreRequest) -> None:
        trainer, checkpoint = self._trainer_slot.connection, request.checkpoint
        if trainer is None:
            return
        if self._preloaded is not None and self._preloaded.message == ImageAnswer(checkpoint):
            trainer.tell(self._preloaded.message, self._preloaded.fds)
            self._drop_preloaded()
            return
        self._asking, self._wanted = trainer, checkpoint
        if self._persister.connection is None:
            self._give_no_image(_NOBODY_LOADS)
        else:
            self._persister.send(Load(checkpoint))

    def answered(self, received: Received) -> Iterable[Occurrence]:
        if not self.ready:
            match received.message:
                case ImageAnswer(name):
                    self._preloaded = received
                    return self._become_ready(name)
                case NoImage(name):
                    return self._become_ready(name)
            return ()
        if self._verifying:
            self._verified(received)
            return ()
        if self._asking is None:
            close_all(received.fds)
        elif isinstance(received.message, ImageAnswer):
            self._asking.tell(received.message, received.fds)
            close_all(received.fds)
            self._asking, self._wanted = None, ""
        elif isinstance(received.message, NoImage):
            self._give_no_image(received.message.reason)
        return ()

    def persister_restarted(self) -> None:
        if not self.ready:
            self._persister.send(Load(""))
        elif self._verifying or self._wanted:
            self._persister.send(Load(self._verifying or self._wanted))

    def persister_given_up(self) -> Iterable[Occurrence]:
        if not self.ready:
            readable = (entry.path.name for entry in self._catalog.entries() if entry.manifest)
            return self._become_ready(next(readable, ""))
        if self._verifying:
            self._verdicts[self._verifying], self._verifying = False, ""
        self._give_no_image(_NOBODY_LOADS)
        return ()

    def close(self) -> None:
        self._drop_preloaded()

    def _give_no_image(self, reason: str) -> None:
        if self._asking is not None:
            self._asking.tell(NoImage(self._wanted, reason))
        self._asking, self._wanted = None, ""

    def _become_ready(self, newest: str = "") -> Iterator[Occurrence]:
        """The restore point is known; an empty name stands for none."""
        if newest:
            self.points = restore_points(self._catalog.entries(), newest)
        self.ready = True
        if not self._awaits_agreement:
            yield from self._let_in()

    def _let_in(self) -> Iterator[Occurrence]:
        slot = self._trainer_slot
        if self._refusal and (self.points or self._is_refused):
            slot.terms = replace(slot.terms, refusal=self._refusal)
            # Recorded now: the run may end in another way before the trainer hears of it.
            yield Notice("resume_refused", f"{self._refusal}.", _AGREE)
        if self.points:
            name, info = self.points[-1]
            in_fit = bool(info.identity) and not info.milestone
            yield ResumeChosen(info.step, info.epoch, name, info.level, in_fit)
        self._trainer_slot.welcome(self.points)

    def _verified(self, received: Received) -> None:
        name, self._verifying = self._verifying, ""
        self._verdicts[name] = isinstance(received.message, ImageAnswer)
        if self._verdicts[name]:
            self._drop_preloaded()
            self._preloaded = received
        else:
            close_all(received.fds)

    def _drop_preloaded(self) -> None:
        if self._preloaded is not None:
            close_all(self._preloaded.fds)
            self._preloaded = None
