"""EarlyStopping ends the training after two epochs without progress."""

import keras
from tiny import fit

fit(
    [keras.callbacks.EarlyStopping(monitor="loss", patience=2, min_delta=100.0)],
    epochs=10,
)
