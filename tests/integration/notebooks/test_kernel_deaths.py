"""Generated notebooks whose kernels die: their trainings end as if nothing had happened."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pitstop.link.settings import ENV_ENTROPY
from tests.integration.notebooks.runner import Runner


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, forked_kernel: Sequence[str]) -> Runner:
    return Runner(tmp_path_factory.mktemp("notebooks"), forked_kernel)


@pytest.mark.torture
@pytest.mark.xdist_group("kernels")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(1, 50))
def test_no_training_gets_a_state_of_another(
    number: int, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENV_ENTROPY, "5eed")
    result = runner.run(number)
    assert not result.failures, "\n\n".join(result.failures)
    assert result.deaths
