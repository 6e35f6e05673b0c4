"""Loading restore points while the trainer is still starting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pitstop.link.messages import ImageAnswer, NoImage, RestoreRequest
from pitstop.link.wire import Received, close_all
from pitstop.store.catalog import Catalog
from pitstop.supervisor.helpers.persister_link import PersisterLink
from pitstop.supervisor.helpers.restore_points import restore_points
from pitstop.supervisor.lifecycle.occurrences import Occurrence, TrainerCameIn
from pitstop.supervisor.trainer.chosen_checkpoint import ChosenCheckpoint
from pitstop.supervisor.trainer.trainer_link import TrainerLink
from pitstop.supervisor.trainer.trainer_slot import TrainerSlot

_NOBODY_LOADS = "the process that loads it keeps dying"


class Restoring:
    """Asks the persister for images, and has the trainer begin when they are known.

    The newest checkpoint is loaded before anybody asks, beside the import of TensorFlow; `ready`
    tells that its loading has ended either way.  One that is there and cannot be read is a restore
    point all the same: the trainer, which asks for it, is told why not, and does not begin anew in
    its place.
    """

    def __init__(
        self, catalog: Catalog, persister: PersisterLink, trainer_slot: TrainerSlot
    ) -> None:
        self._trainer_slot = trainer_slot
        self._catalog = catalog
        self._persister = persister
        self._preloaded: Received | None = None
        self._asking: TrainerLink | None = None
        self._wanted = ""
        self.ready = False
        self.points: tuple[ChosenCheckpoint, ...] = ()

    def begin(self) -> Iterable[Occurrence]:
        """Starts to load the newest good checkpoint, if there is any."""
        if not self._catalog.entries():
            return self._become_ready()
        self._persister.load("")
        return ()

    def came_in(self, _: TrainerCameIn) -> None:
        if self.ready:
            self._trainer_slot.welcome(self.points)

    def requested(self, request: RestoreRequest) -> None:
        trainer, checkpoint = self._trainer_slot.link, request.checkpoint
        if trainer is None:
            return
        if self._preloaded is not None and self._preloaded.message == ImageAnswer(checkpoint):
            trainer.give_image(checkpoint, self._preloaded.fds)
            self._drop_preloaded()
            return
        self._asking, self._wanted = trainer, checkpoint
        if self._persister.connection is None:
            self._give_no_image(_NOBODY_LOADS)
        else:
            self._persister.load(checkpoint)

    def answered(self, received: Received) -> Iterable[Occurrence]:
        """The persister has loaded something (`ImageAnswer`), or says why not (`NoImage`)."""
        if not self.ready:
            return self._first_answer(received)
        if self._asking is None:
            close_all(received.fds)
        elif isinstance(received.message, ImageAnswer):
            self._asking.give_image(received.message.checkpoint, received.fds)
            close_all(received.fds)
            self._asking, self._wanted = None, ""
        elif isinstance(received.message, NoImage):
            self._give_no_image(received.message.reason)
        return ()

    def persister_restarted(self) -> None:
        """Asks again for what the persister that died has not answered."""
        if not self.ready:
            self._persister.load("")
        elif self._wanted:
            self._persister.load(self._wanted)

    def persister_given_up(self) -> Iterable[Occurrence]:
        """Nothing more can be loaded: nobody must wait for it."""
        if not self.ready:
            readable = (entry.path.name for entry in self._catalog.entries() if entry.manifest)
            return self._become_ready(next(readable, ""))
        self._give_no_image(_NOBODY_LOADS)
        return ()

    def close(self) -> None:
        self._drop_preloaded()

    def _first_answer(self, received: Received) -> Iterable[Occurrence]:
        match received.message:
            case ImageAnswer(name):
                self._preloaded = received
                return self._become_ready(name)
            case NoImage(name):
                return self._become_ready(name)
        return ()

    def _give_no_image(self, reason: str) -> None:
        if self._asking is not None:
            self._asking.give_no_image(self._wanted, reason)
        self._asking, self._wanted = None, ""

    def _become_ready(self, newest: str = "") -> Iterator[Occurrence]:
        """What there is to restore is known: the checkpoint of this name, nothing without one."""
        if newest:
            self.points = restore_points(self._catalog.entries(), newest)
        self.ready = True
        if self.points:
            yield self.points[-1].chosen()
        self._trainer_slot.welcome(self.points)

    def _drop_preloaded(self) -> None:
        if self._preloaded is not None:
            close_all(self._preloaded.fds)
            self._preloaded = None
