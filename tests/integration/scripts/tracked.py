"""Trains with a tracker's own callback: tracked.py wandb|mlflow|autolog step|epoch."""

import os
import signal
import sys
import time
from pathlib import Path

import keras
import numpy as np

tracker, by = sys.argv[1:]
EPOCHS = 4
PLAN = Path("plan")
"""Where there is one: a step, and what happens after it."""


class Ends(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if not PLAN.exists():
            return
        time.sleep(0.05)
        step, name = PLAN.read_text().split()
        if int(self.model.optimizer.iterations) >= int(step):
            PLAN.unlink()
            target = os.getpid() if name == "SIGKILL" else os.getppid()
            os.kill(target, getattr(signal, name))


keras.utils.set_random_seed(1)
x = np.random.rand(160, 8).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("adam", "mse")


def fit(*callbacks):
    given = {"epochs": EPOCHS, "batch_size": 8, "verbose": 0, "validation_data": (x[:16], y[:16])}
    model.fit(x, y, callbacks=[*callbacks, Ends()], **given)


if tracker == "wandb":
    import wandb
    from wandb.integration.keras import WandbMetricsLogger

    with wandb.init(project="trainings") as run:
        fit(WandbMetricsLogger(log_freq="batch" if by == "step" else "epoch"))
        run.log({"after": 1})
elif tracker == "mlflow":
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    by_epoch = by == "epoch"
    with mlflow.start_run():
        fit(mlflow.keras.MlflowCallback(by_epoch, None if by_epoch else 1))
        mlflow.log_metric("after", 1.0)
else:
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    mlflow.tensorflow.autolog(
        log_models=False,
        log_datasets=False,
        checkpoint=False,
        log_every_epoch=by == "epoch",
        log_every_n_steps=None if by == "epoch" else 1,
    )
    fit()
