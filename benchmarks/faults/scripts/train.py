"""A training as people write them, in which something goes wrong if the environment says so."""

import argparse
import time

import decoys
import keras
import numpy as np
import tensorflow as tf
from ends import PACE_SECONDS, callbacks
from faults import reach
from inputs import INPUTS
from models import BATCH, build


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="dense")
    parser.add_argument("--input", default="arrays")
    parser.add_argument("--callbacks", nargs="*", default=[])
    parser.add_argument("--decoys", nargs="*", default=[])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--loop", action="store_true")
    return parser.parse_args()


def fit(options, model, x, y, data):
    if isinstance(data, tuple):
        data = dict(zip("xy", data, strict=True), batch_size=BATCH)
    else:
        data = {"x": data}
    held_out = {"validation_data": (x[:128], y[:128]), "validation_batch_size": BATCH}
    model.fit(
        **data,
        **(held_out if options.validation else {}),
        epochs=options.epochs,
        steps_per_epoch=options.steps,
        callbacks=callbacks(options.callbacks),
        verbose=2,
    )


def loop(options, model, data):
    """The loop of people who write their own."""
    loss_of, optimizer = keras.losses.get(model.loss), model.optimizer

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(loss_of(y, model(x, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    done = 0
    for epoch in range(options.epochs):
        for x, y in data:
            loss = step(x, y)
            done += 1
            reach(f"batch:{done}")
            time.sleep(PACE_SECONDS)
        print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)


def main():
    options = arguments()
    reach("import")
    keras.utils.set_random_seed(7)
    decoys.show(options.decoys)
    model, x, y = build(options.model)
    data = INPUTS[options.input](x, y)
    if options.loop:
        loop(options, model, data)
    else:
        fit(options, model, x, y, data)
    model.save_weights("final.weights.h5")
    reach("end")
    print(f"done: {np.mean([np.mean(each) for each in model.get_weights()]):.4f}", flush=True)


if __name__ == "__main__":
    main()
