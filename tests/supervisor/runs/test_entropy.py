"""What a script does not seed begins with its run."""

from __future__ import annotations

from pitstop.supervisor.records.fingerprint import HASH_SEED, hash_seed, of_new_runs


def test_a_hash_seed_comes_from_the_run_and_stays() -> None:
    first = hash_seed("ab12", {}, {})
    assert first == hash_seed("ab12", {}, {})
    assert first != hash_seed("cd34", {}, {})
    assert 0 < int(first[HASH_SEED]) < 2**32


def test_the_users_hash_seed_comes_first_and_then_that_of_before() -> None:
    before = {"env": {HASH_SEED: "7"}}
    assert hash_seed("ab12", {HASH_SEED: "0"}, before) == {HASH_SEED: "0"}
    assert hash_seed("ab12", {}, before) == {HASH_SEED: "7"}


def test_a_new_run_takes_what_it_is_told_but_not_what_a_process_has_taken() -> None:
    assert of_new_runs({"PITSTOP_ENTROPY": "ab12"}) == "ab12"
    assert of_new_runs({"PITSTOP_ENTROPY": "ab12:77"}) == ""
    assert of_new_runs({}) == ""
