"""What fails in our own code is noted once, and nobody else notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.engine import fence
from pitstop.engine.fence import FAILURES_FILE, Fence, observing
from pitstop.engine.leaving import Refused
from pitstop.events import Event, Notice
from pitstop.link.beacon import Phase
from pitstop.link.settings import ENV_STACKS


class Watched:
    """A session that writes down what it is told."""

    def __init__(self, attempt_dir: Path, phase: Phase = Phase.TRAIN) -> None:
        self.attempt_dir = attempt_dir
        self.reported: list[Event] = []
        self.given_up: list[Exception] = []
        self._phase = phase

    def report(self, event: Event) -> None:
        self.reported.append(event)

    def give_up_snapshots(self, error: Exception) -> None:
        self.given_up.append(error)

    def phase(self) -> Phase:
        return self._phase

    @property
    def kept(self) -> str:
        return (self.attempt_dir / FAILURES_FILE).read_text()


def fails(words: str = "ours") -> None:
    raise ValueError(words)


@pytest.fixture
def fenced(monkeypatch: pytest.MonkeyPatch) -> Fence:
    made = Fence()
    monkeypatch.setattr(fence, "FENCE", made)
    return made


def test_a_failure_is_kept_with_its_traceback_and_told(fenced: Fence, tmp_path: Path) -> None:
    session = Watched(tmp_path)
    fenced.tell(session)
    observing()(fails)("the numbers")
    assert session.kept.startswith("fails\nTraceback")
    assert "raise ValueError(words)\nValueError: the numbers" in session.kept
    (notice,) = session.reported
    assert isinstance(notice, Notice)
    assert notice.code == "observation_failed"
    assert session.given_up == []


def test_a_few_lines_are_noted_by_the_function_that_they_are_in(
    fenced: Fence, tmp_path: Path
) -> None:
    session = Watched(tmp_path)
    fenced.tell(session)
    with fence.fenced(spoils=True):
        fails()
    place = "test_a_few_lines_are_noted_by_the_function_that_they_are_in"
    assert session.kept.startswith(f"{place}\nTraceback")
    assert [str(error) for error in session.given_up] == ["ours"]


def test_each_place_is_kept_once_and_the_user_hears_of_the_first(
    fenced: Fence, tmp_path: Path
) -> None:
    session = Watched(tmp_path)
    fenced.tell(session)
    for place in ("one", "two", "one", "two"):
        fenced.note(place, ValueError())
    assert session.kept.count("ValueError") == 2
    assert len(session.reported) == 1


def test_what_an_exact_resume_needs_ends_the_snapshots(fenced: Fence, tmp_path: Path) -> None:
    session = Watched(tmp_path)
    fenced.tell(session)
    observing(spoils=True)(fails)()
    assert [str(error) for error in session.given_up] == ["ours"]


def test_a_failed_restore_leaves_the_script(fenced: Fence, tmp_path: Path) -> None:
    """Training from the start in its place would be a silent loss."""
    session = Watched(tmp_path, Phase.RESTORING)
    fenced.tell(session)
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            observing(spoils=True)(fails)()
        assert caught.value.code == 2
    (notice,) = session.reported
    assert isinstance(notice, Notice)
    assert notice.code == "resume_refused"


def test_what_fails_before_there_is_a_session_is_told_when_there_is_one(
    fenced: Fence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENV_STACKS, str(tmp_path / "stacks.txt"))
    session = Watched(tmp_path)
    observing(spoils=True)(fails)()
    assert "ValueError" in session.kept
    fenced.tell(session)
    assert len(session.given_up) == 1


@pytest.mark.parametrize("passes", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_ends_a_script_passes(passes: type[BaseException]) -> None:
    def leaves() -> None:
        raise passes

    with pytest.raises(passes):
        observing(spoils=True)(leaves)()


def test_a_session_that_fails_itself_is_not_noticed(fenced: Fence, tmp_path: Path) -> None:
    class Broken(Watched):
        def report(self, event: Event) -> None:
            raise RuntimeError(event)

    fenced.tell(Broken(tmp_path))
    observing()(fails)()


@pytest.mark.usefixtures("fenced")
def test_an_exception_of_the_user_is_left_as_it_was() -> None:
    def handles() -> None:
        try:
            raise KeyError("theirs")
        finally:
            observing()(fails)()

    with pytest.raises(KeyError) as caught:
        handles()
    assert caught.value.__context__ is None
