"""Which process of the script this is."""

from __future__ import annotations

import multiprocessing

from pitstop.engine.process_name import process_name


def test_the_scripts_own_process_has_no_name() -> None:
    assert process_name() == ""


def test_a_child_has_the_name_that_it_gets_in_every_attempt() -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(process_name).startswith("SpawnPoolWorker-")
