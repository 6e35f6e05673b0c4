"""Both packages of Keras in one process."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import keras
import pytest

from pitstop.keras import private
from pitstop.keras.packages import imported, kinds, package_of, private_of, public

tf_keras = pytest.importorskip("tf_keras")
legacy_private = pytest.importorskip("pitstop.keras.legacy_private")


def test_classes_of_both_are_found_and_names_that_only_one_has() -> None:
    assert imported() == ("keras", "tf_keras")
    both = (keras.callbacks.Callback, tf_keras.callbacks.Callback)
    assert kinds("callbacks.Callback") == both
    assert kinds("optimizers.legacy.Optimizer")[-1] is tf_keras.optimizers.legacy.Optimizer
    assert kinds("Variable") == (keras.Variable,)
    assert kinds("no.such.Name") == ()


@pytest.mark.parametrize(
    ("package", "names"), [(keras, private), (tf_keras, legacy_private)], ids=["3", "2"]
)
def test_a_model_leads_to_the_names_of_its_package(package: object, names: object) -> None:
    base: type = getattr(package, "Model")  # noqa: B009  a module
    model = type("Own", (base,), {})()
    assert package_of(model) == vars(package)["__name__"]
    assert public(model) is package
    assert private_of(model) is names


def test_what_is_of_neither_is_taken_for_keras_3() -> None:
    assert package_of(SimpleNamespace()) == "keras"


def test_the_hooks_of_keras_2_do_not_import_keras_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where TensorFlow does not either: the hooks of Keras 3 would be put in meanwhile."""
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    code = (
        "import sys, pitstop.keras.instrumentation, pitstop.keras.legacy_hooks\n"
        "sys.exit('keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
