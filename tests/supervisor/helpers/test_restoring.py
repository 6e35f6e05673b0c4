"""Which states a trainer is told to restore, and what it hears when one cannot be loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pitstop.events import Notice
from pitstop.link.messages import ImageAnswer, Message, NoImage, RestoreRequest, Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import Connection, pair
from pitstop.store.catalog import Catalog
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import open_or_create
from pitstop.supervisor.helpers.helper_link import PersisterLink, PersisterPlan
from pitstop.supervisor.helpers.restoring import Restoring, held_by_all
from pitstop.supervisor.lifecycle.occurrences import EventLoop, Occurrence
from pitstop.supervisor.processes.trainer_slot import TrainerSlot
from tests.messages import body_of
from tests.store.samples import info, save


@dataclass
class _Attempt:
    """The supervisor's side, and what is at the other ends of its connections."""

    restoring: Restoring
    link: PersisterLink
    persister: Connection
    trainer: Connection
    ours: Connection
    slot: TrainerSlot
    events: list[Occurrence] = field(default_factory=list)

    @property
    def points(self) -> list[str]:
        return [name for name, _ in self.restoring.points]

    def persister_says(self, message: Message, *fds: int) -> None:
        self.persister.send(message, fds)
        for received in self.link.receive():
            self.events += self.restoring.answered(received)

    def persister_is_given_up(self) -> None:
        self.link.lost()
        self.events += self.restoring.persister_given_up()

    def trainer_asks(self, checkpoint: str) -> None:
        self.slot.connection = self.ours
        self.restoring.requested(RestoreRequest(checkpoint))

    def trainer_hears(self) -> tuple[str, str]:
        message = self.trainer.receive()
        return message.message.type, str(body_of(message)["reason"])


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[_Attempt]:
    folder = open_or_create(tmp_path / "run", ["train"], tmp_path)
    save(folder.checkpoints, step=10, sequence=1)
    save(folder.checkpoints, step=20, sequence=2)
    plan = PersisterPlan(
        folder.path, 1, -1, -1, RetentionPolicy(), tmp_path / "persister.log", frozenset()
    )
    link = PersisterLink(plan)
    link.connection, persister = pair()
    ours, trainer = pair()
    slot = TrainerSlot(EventLoop(), Welcome(1, "", 1, Settings(), -1, ()), ours.fileno())
    restoring = Restoring(Catalog(folder.checkpoints), link, slot)
    assert not list(restoring.begin())
    assert body_of(persister.receive()) == {"checkpoint": ""}
    yield _Attempt(restoring, link, persister, trainer, ours, slot)
    restoring.close()
    link.lost()
    for each in (persister, trainer, ours):
        each.close()


def test_what_was_loaded_is_handed_over(attempt: _Attempt) -> None:
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    assert attempt.points == ["00000020"]
    attempt.trainer_asks("00000020")
    message = attempt.trainer.receive()
    assert (message.message.type, body_of(message)["checkpoint"]) == ("image_answer", "00000020")
    os.close(message.fds[0])


def test_without_a_good_checkpoint_the_run_begins_anew(attempt: _Attempt) -> None:
    attempt.persister_says(NoImage("", "the disk sleeps"))
    assert attempt.restoring.ready
    assert attempt.points == []


def test_one_that_cannot_be_read_is_no_reason_to_begin_anew(attempt: _Attempt) -> None:
    attempt.persister_says(NoImage("00000020", "the disk sleeps"))
    assert attempt.points == ["00000020"]
    attempt.trainer_asks("00000020")
    attempt.persister_says(NoImage("00000020", "the disk sleeps"))
    assert attempt.trainer_hears() == ("no_image", "the disk sleeps")


def test_without_anybody_who_loads_it_the_run_does_not_begin_anew(attempt: _Attempt) -> None:
    attempt.persister_is_given_up()
    assert attempt.points == ["00000020"]
    attempt.trainer_asks("00000020")
    assert attempt.trainer_hears() == ("no_image", "the process that loads it keeps dying")


def test_who_waits_is_told_that_nobody_loads_any_more(attempt: _Attempt) -> None:
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    attempt.trainer_asks("00000010")
    attempt.persister_is_given_up()
    assert attempt.trainer_hears() == ("no_image", "the process that loads it keeps dying")


def test_the_trainer_of_a_member_waits_for_the_state_that_all_agree_on(attempt: _Attempt) -> None:
    assert attempt.restoring.await_agreement()
    attempt.slot.connection = attempt.ours
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    assert attempt.restoring.ready
    assert not attempt.slot.welcomed
    assert attempt.restoring.verdict("00000020")
    assert attempt.restoring.verdict("00000010") is None
    attempt.persister_says(ImageAnswer("00000010"), attempt.trainer.fileno())
    assert attempt.restoring.verdict("00000010")
    told = attempt.restoring.agreed("00000010", "a-2", "", ())
    assert [type(each).__name__ for each in told] == ["ResumeChosen"]
    assert attempt.points == ["00000010"]
    welcome = body_of(attempt.trainer.receive())
    assert (welcome["gang"], welcome["refusal"]) == ("a-2", "")


def test_an_end_that_not_all_members_hold_is_trained_again() -> None:
    """As one that none holds, so that all members do the same."""
    newest = replace(info(30), fit=2, identity={"left_out": 0, "ordinal": 2})
    ends = [replace(info(step, "fit_end"), fit=fit) for fit, step in enumerate((10, 20))]
    points = (("00000010", ends[0]), ("00000020", ends[1]), ("00000030", newest))
    assert held_by_all(points, {name for name, _ in points}) == points
    [first, last] = held_by_all(points, {"00000010", "00000030"})
    assert first == points[0]
    assert last[1].identity == {"left_out": 1, "ordinal": 2}


def test_a_state_that_cannot_be_read_is_not_agreed_on(attempt: _Attempt) -> None:
    attempt.restoring.await_agreement()
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    assert attempt.restoring.verdict("00000010") is None
    attempt.persister_says(NoImage("00000010", "it is damaged"))
    assert attempt.restoring.verdict("00000010") is False


def test_without_an_agreement_who_has_a_state_is_refused(attempt: _Attempt) -> None:
    attempt.restoring.await_agreement()
    attempt.slot.connection = attempt.ours
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    [notice, _] = attempt.restoring.agreed_on_nothing("nobody answers")
    assert isinstance(notice, Notice)
    assert (notice.code, notice.message) == ("resume_refused", "nobody answers.")
    welcome = body_of(attempt.trainer.receive())
    assert (welcome["gang"], welcome["refusal"]) == ("", "nobody answers")


def test_who_is_refused_before_its_state_is_loaded_does_not_begin_anew(attempt: _Attempt) -> None:
    attempt.restoring.await_agreement()
    attempt.slot.connection = attempt.ours
    assert not list(attempt.restoring.agreed_on_nothing("nobody answers"))
    assert not attempt.slot.welcomed
    attempt.persister_says(ImageAnswer("00000020"), attempt.trainer.fileno())
    assert body_of(attempt.trainer.receive())["refusal"] == "nobody answers"
