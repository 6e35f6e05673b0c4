"""A registry that learns of the variables of one test only."""

from __future__ import annotations

import pytest
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from pitstop.tensorflow.variables import VariableRegistry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> VariableRegistry:
    # Setting it to itself brings it back after the test.
    monkeypatch.setattr(BaseResourceVariable, "__init__", BaseResourceVariable.__init__)
    made = VariableRegistry()
    made.install()
    return made
