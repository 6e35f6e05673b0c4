"""Why a loop cannot be repeated, or not exactly."""

EAGER_LOOP = (
    "gradients are applied outside of any tf.function, so that no step can be told from the "
    "next; put the step into a tf.function, or use pitstop.start and run.steps, two lines"
)
TAPED = (
    "{} is called while a gradient tape is open, which an answer from the record cannot lead "
    "through; take the gradients inside of the tf.function"
)
NO_SEED = (
    "the script sets no seed, so that it draws other input when it is repeated; "
    "call keras.utils.set_random_seed first"
)
