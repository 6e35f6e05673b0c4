"""Tracing the first step takes argv[1] seconds (10), as a large graph's does."""

import sys
import time

import keras
from tiny import BATCH, build_model, make_data

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 10


class SlowToTrace(keras.Sequential):
    def train_step(self, data):
        print("tracing", flush=True)
        time.sleep(SECONDS)  # python runs here once, while the graph is made
        return super().train_step(data)


x, y = make_data()
build_model(SlowToTrace).fit(x, y, batch_size=BATCH, epochs=3, verbose=2)
