"""The dataset has 15 batches, `steps_per_epoch` asks for 20.

Keras 3 warns once, shortens every epoch, and prints 20/20 all the same.
"""

import tensorflow as tf
from tiny import BATCH, build_model, make_data

batches = tf.data.Dataset.from_tensor_slices(make_data(batches=15)).batch(BATCH)
build_model().fit(batches, steps_per_epoch=20, epochs=3, verbose=2)
