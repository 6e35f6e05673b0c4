"""One bad row in the 8th batch turns the loss, and then every weight, into NaN."""

import numpy as np
from tiny import BATCH, build_model, make_data

x, y = make_data()
x[7 * BATCH + 3, 0] = np.nan
build_model().fit(x, y, batch_size=BATCH, shuffle=False, epochs=2, verbose=2)
