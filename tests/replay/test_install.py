"""Files of weights are opened whatever happens to who looks on."""

from __future__ import annotations

import pytest

from pitstop.engine import fence
from pitstop.engine.fence import Fence
from pitstop.replay import install


class Unwell:
    """Notes of files, of which everything fails."""

    def note(self, path: str, *, is_only_read: bool = True) -> None:
        raise LookupError(path)

    def note_begun_anew(self, path: str) -> None:
        raise LookupError(path)


@pytest.mark.parametrize("mode", ["r", "a", "w"])
def test_a_file_of_weights_is_opened(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[object, ...]] = []
    noted: list[str] = []

    class Noting(Fence):
        def note(self, place: str, error: Exception, *, spoils: bool = False) -> None:
            noted.append(f"{type(error).__name__} {spoils}")

    monkeypatch.setattr(fence, "FENCE", Noting())
    monkeypatch.setattr(install, "EARLIER", Unwell())
    install._open_h5(lambda *given: opened.append(given), None, "best.weights.h5", mode)
    assert opened == [(None, "best.weights.h5", mode)]
    assert noted == ["LookupError False"]
