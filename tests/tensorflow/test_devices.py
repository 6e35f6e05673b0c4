"""Tests of pitstop.tensorflow.devices."""

import pytest
import tensorflow as tf

from pitstop.tensorflow import devices
from pitstop.tensorflow.traced_ops import OpKind


class Device:
    """What TensorFlow tells of a device."""

    def __init__(self, device_type: str, name: str = "") -> None:
        self.device_type = device_type
        self.name = name


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two GPUs of one model."""
    seen = [Device("CPU"), Device("GPU", "NVIDIA T4"), Device("GPU", "NVIDIA T4")]
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda: seen)
    monkeypatch.setattr(
        tf.config.experimental, "get_device_details", lambda device: {"device_name": device.name}
    )


def test_a_cpu_says_nothing_against_a_training() -> None:
    assert devices.level_on([], deterministic=False) is None


def test_any_ops_on_a_gpu_are_not_repeatable() -> None:
    level = devices.level_on(["GPU"], deterministic=False)
    assert level is not None
    assert level.level == "not_exact"
    assert "not repeatable on this device (GPU)" in level.reason
    assert "--deterministic" in level.reason


def test_deterministic_ops_on_a_gpu_are_exact() -> None:
    assert devices.level_on(["GPU"], deterministic=True) is None


@pytest.mark.parametrize("kinds", [["GPU", "GPU"], ["TPU"], ["GPU", "TPU"]])
def test_other_devices_are_not_called_exact_before_they_were_measured(kinds: list[str]) -> None:
    level = devices.level_on(kinds, deterministic=True)
    assert level is not None
    assert level.level == "not_exact"
    assert "never tested" in level.reason


@pytest.mark.usefixtures("two_gpus")
def test_the_models_of_the_gpus_are_counted() -> None:
    assert devices.accelerators() == {"GPU": "2 x NVIDIA T4"}


@pytest.mark.usefixtures("two_gpus")
def test_what_a_training_was_computed_with_names_device_and_rounding() -> None:
    tf.config.experimental.enable_tensor_float_32_execution(True)
    assert devices.computed_with()["device"] == "2 x NVIDIA T4, TensorFloat-32"
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        assert devices.computed_with()["device"] == "2 x NVIDIA T4"
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(True)


def test_without_a_gpu_the_device_is_the_cpu() -> None:
    assert devices.computed_with()["device"] == "CPU"


@pytest.mark.usefixtures("two_gpus")
def test_a_process_with_a_gpu_is_not_exact() -> None:
    level = devices.level_of_process()
    assert level is not None
    assert level.level == "not_exact"


_AUTO = "--tf_xla_auto_jit=2"
_ON_CPU = f"{_AUTO} --tf_xla_cpu_global_jit"


@pytest.mark.parametrize(
    ("kinds", "asked", "flags", "expected"),
    [
        ([], "", "", False),
        ([], "autoclustering", _AUTO, False),
        ([], "", _ON_CPU, True),
        ([], "autoclustering", "--tf_xla_cpu_global_jit=true", True),
        ([], "", "--tf_xla_auto_jit=0 --tf_xla_cpu_global_jit", False),
        (["GPU"], "", "", False),
        (["GPU"], "", "--tf_xla_auto_jit=-1", False),
        (["GPU"], "", "--tf_xla_auto_jit=fusible", True),
        (["GPU"], "autoclustering", "", True),
    ],
)
def test_parts_that_xla_compiles_by_itself(
    kinds: list[str], asked: str, flags: str, expected: bool
) -> None:
    assert devices.has_clusters(kinds, asked, flags) is expected


def test_parts_that_xla_compiles_by_itself_are_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", _ON_CPU)
    level = devices.level_of_process()
    assert level is not None
    assert level.level == "not_exact"
    assert "auto-clustering" in level.reason


def test_parts_that_a_function_marks_for_xla_are_doubted() -> None:
    assert "step marks parts" in devices.doubt_of([OpKind.MARKED]).format("step")


def test_a_compiled_function_is_doubted_on_devices_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert devices.doubt_of([OpKind.COMPILED]) == ""
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda: [Device("GPU")])
    assert "other kernels" in devices.doubt_of([OpKind.COMPILED])
    assert devices.doubt_of([OpKind.STATE]) == ""
