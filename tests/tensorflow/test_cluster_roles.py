"""What a process does in the place of `Server.join`."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

import pytest

from pitstop.tensorflow import cluster_roles


class Supervisor:
    """Says at once that the training is over, or that nobody can tell."""

    def __init__(self, exit_code: int | None) -> None:
        self.exit_code = exit_code
        self.roles: list[str] = []

    def take(self, role: str, _cluster: Any, _task: str) -> None:
        self.roles.append(role)

    def serve(self) -> int | None:
        return self.exit_code

    def leave(self, exit_code: int) -> NoReturn:
        raise SystemExit(exit_code)


def join(supervisor: Any) -> Any:
    server = object()
    return cluster_roles._in_place_of_join(supervisor, lambda given: given is server, server)


def test_the_main_thread_ends_with_the_code_of_the_leader() -> None:
    supervisor = Supervisor(75)
    with pytest.raises(SystemExit) as ending:
        join(supervisor)
    assert ending.value.code == 75
    assert supervisor.roles == ["server"]


def test_a_join_in_another_thread_waits_as_it_would_without_us() -> None:
    """An exit would end the thread alone, whose script goes on as if its server were there."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(join(Supervisor(75)))
        except SystemExit:
            found.append("exit")

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert found == [True]


def test_a_join_whose_end_nobody_can_tell_waits_as_it_would_without_us() -> None:
    assert join(Supervisor(None)) is True
