"""Models that are exported and begun with: `exported.py MODEL [EPOCHS [LAYER_UNITS]]`.

The weights that training begins with are written to `begun.npz`, the last ones to `out.npz`.
"""

import sys
from pathlib import Path

import export_models
import keras
import numpy as np

kind = sys.argv[1]
epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
units = int(sys.argv[3]) if len(sys.argv) > 3 else 4


class Begun(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        variables = [*self.model.weights, *self.model.optimizer.variables]
        values = {each.path: each.numpy() for each in variables}
        np.savez("begun.npz", **values)


keras.utils.set_random_seed(7)
model = export_models.build(kind, units)
x, y = export_models.data()
callbacks = [
    Begun(),
    keras.callbacks.CSVLogger("log.csv"),
    keras.callbacks.TensorBoard("events", profile_batch=0),
]
model.fit(x, y, batch_size=8, epochs=epochs, verbose=0, callbacks=callbacks)
Path("ended").touch()
values = {each.path: each.numpy() for each in [*model.weights, *model.optimizer.variables]}
np.savez("out.npz", **values, predictions=model.predict(x, verbose=0))
