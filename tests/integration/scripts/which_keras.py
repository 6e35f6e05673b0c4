"""The Keras that a script of the tests trains with: Keras 3, or the package KERAS_PACKAGE names."""

import importlib
import os

keras = importlib.import_module(os.environ.get("KERAS_PACKAGE", "keras"))
IS_KERAS_2 = keras.__name__ == "tf_keras"

if IS_KERAS_2:
    # The layers of Keras 2 draw from hidden streams otherwise.
    keras.backend.experimental.enable_tf_random_generator()

    class PyDataset(keras.utils.Sequence):
        """A `Sequence`, made like a `PyDataset`: how it is read, `fit` is told."""

        def __init__(self, **settings):
            self.settings = settings

    def apply(optimizer, gradients, variables):
        """Updates variables by their gradients."""
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

else:
    PyDataset = keras.utils.PyDataset

    def apply(optimizer, gradients, variables):
        """Updates variables by their gradients."""
        optimizer.apply(gradients, variables)


def reading(data):
    """What `fit` is told of how a `PyDataset` is read; Keras 3 asks the data."""
    settings = dict(data.settings) if IS_KERAS_2 else {}
    return {"x": data, **settings}
