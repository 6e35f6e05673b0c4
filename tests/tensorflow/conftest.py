"""What is hooked for one test only: a registry of variables, the stages of pipelines."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.python.data.ops import interleave_op
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

from pitstop.tensorflow.pipelines import stages
from pitstop.tensorflow.variables.variables import VariableRegistry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> VariableRegistry:
    # Setting it to itself brings it back after the test.
    monkeypatch.setattr(BaseResourceVariable, "__init__", BaseResourceVariable.__init__)
    made = VariableRegistry()
    made.install()
    return made


@pytest.fixture
def watched_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (interleave_op._ParallelInterleaveDataset, tf.data.Dataset):
        monkeypatch.setattr(kind, "__init__", kind.__init__)
    stages.watch()
