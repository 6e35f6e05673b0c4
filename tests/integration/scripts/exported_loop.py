"""A loop of `pitstop.start` whose optimizer is built by its first step."""

import json
from pathlib import Path

import export_models
import keras
import tensorflow as tf

import pitstop

keras.utils.set_random_seed(5)
x, y = export_models.data()
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.05)
offset = tf.Variable(0.0)
run = pitstop.start("run", model=model, optimizer=optimizer, offset=offset)
Path("begun.json").write_text(json.dumps({"offset": float(offset.numpy())}))
for _ in run.steps(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    offset.assign_add(0.5)
    run.log(loss=loss)
