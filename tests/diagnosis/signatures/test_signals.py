"""Signals and exit codes, as every tool spells them."""

from __future__ import annotations

import pytest

from pitstop.diagnosis.signatures.signals import SIGNALS, signal_of, signal_of_code


@pytest.mark.parametrize("text", ["9", "-9", "SIGKILL", "KILL", "Killed", "killed", "已杀死"])
def test_sigkill_by_any_name(text: str) -> None:
    assert signal_of(text) == "SIGKILL"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (137, "SIGKILL"),
        (-9, "SIGKILL"),
        (247, "SIGKILL"),
        (139, "SIGSEGV"),
        (-1073741819, "SIGSEGV"),
        (0xC0000005, "SIGSEGV"),
        (143, "SIGTERM"),
        (1, ""),
        (2, ""),
        (124, ""),
        (255, ""),
    ],
)
def test_codes_that_tell_of_a_signal(code: int, name: str) -> None:
    assert signal_of_code(code) == name


def test_words_that_are_no_signal() -> None:
    assert signal_of("Done") == ""
    assert signal_of("99") == ""


def test_no_signal_alone_proves_a_lack_of_memory() -> None:
    causes = {each.cause for each in SIGNALS.values()}
    assert not causes & {"host_oom_killed", "gpu_oom", "host_alloc_failure"}
