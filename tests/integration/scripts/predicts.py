"""Trains, and then predicts 100 batches, each of which takes argv[1] seconds."""

import sys
import time

import keras
from tiny import BATCH, build_model, make_data

SECONDS = float(sys.argv[1])
BATCHES = 100


class Slow(keras.utils.PyDataset):
    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        time.sleep(SECONDS)
        return x[:BATCH]


keras.utils.set_random_seed(7)
x, y = make_data()
model = build_model()
model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0)
print("predicted", len(model.predict(Slow(), verbose=0)), flush=True)
