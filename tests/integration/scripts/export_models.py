"""The models of `exported.py`, which a program without Pitstop needs to load them."""

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable("exported")
class Scale(keras.layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(name="factor", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.factor


@keras.saving.register_keras_serializable("exported")
class Subclassed(keras.Model):
    def __init__(self, units=4, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.hidden = keras.layers.Dense(units, activation="tanh")
        self.scale = Scale()
        self.last = keras.layers.Dense(1)

    def call(self, x):
        return self.last(self.scale(self.hidden(x)))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("exported")
class CustomStep(Subclassed):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self(x, training=True) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def build(kind, units=4):
    if kind == "functional":
        inputs = keras.Input((3,))
        x = keras.layers.Dense(units, activation="relu")(inputs)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Dropout(0.3)(x)
        model = keras.Model(inputs, keras.layers.Dense(1)(x))
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    elif kind == "subclassed":
        model = Subclassed(units)
        model.compile(keras.optimizers.AdamW(0.01), "mse", metrics=["mae"])
    else:
        model = CustomStep(units)
        model.compile(keras.optimizers.SGD(0.01, momentum=0.9))
    return model


def data():
    random = np.random.default_rng(3)
    x = random.normal(size=(64, 3)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)
