"""Ways in which a program trains."""

from __future__ import annotations

from dataclasses import dataclass

EDITS = (
    "nothing",
    "comment",
    "rate",
    "momentum",
    "batch",
    "epochs",
    "fewer_epochs",
    "width",
    "data",
    "loss",
    "callback_added",
    "callback_removed",
    "callback_moved",
    "argument",
)
SWEEP_EDITS = ("nothing", "comment", "reversed", "longer", "shorter", "argument", "width")


@dataclass(frozen=True)
class Training:
    """Python source that makes models, trains them, and prints what came of it.

    Attributes:
        source: statements of the module.
        steps: how many it does, in all.
        changes: what may differ in a later attempt.
        separate: several trainings that know nothing of each other.
        loop: the script's own loop.
    """

    source: str
    steps: int
    changes: tuple[str, ...] = ("nothing", "comment", "argument")
    separate: bool = False
    loop: bool = False


_ONCE = """\
model = make_model()
history = model.fit(
    epochs=EPOCHS, verbose=0, callbacks=callbacks(),
    **make_data(x, y), **make_validation(),
)
final("history", [history.epoch, history.history])
"""
_SEVERAL = """\
model = make_model()
for done in range(EPOCHS):
    history = model.fit(
        epochs=done + 1, initial_epoch=done, verbose=0, callbacks=callbacks(),
        **make_data(x, y), **make_validation(),
    )
    final(f"history {done}", [history.epoch, history.history])
"""
_PHASES = """\
model = make_model()
history = model.fit(
    epochs=2, verbose=0, callbacks=callbacks(),
    **make_data(x, y), **make_validation(),
)
final("first", [history.epoch, history.history])
model.layers[0].trainable = False
model.compile(keras.optimizers.SGD(RATE / 10), LOSS, metrics=["mae"])
history = model.fit(
    epochs=2, verbose=0, callbacks=callbacks(),
    **make_data(x, y), **make_validation(),
)
final("second", [history.epoch, history.history])
"""
_CAUGHT = """\
class Raises(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            raise RuntimeError("an epoch too many")


model = make_model()
try:
    model.fit(epochs=EPOCHS, verbose=0, callbacks=[*callbacks(), Raises()], **make_data(x, y))
except RuntimeError as error:
    final("caught", str(error))
history = model.fit(
    epochs=2, verbose=0, callbacks=callbacks(),
    **make_data(x, y), **make_validation(),
)
final("history", [history.epoch, history.history])
"""
_SWEEP = """\
results = json.load(open("results.json")) if SKIPS and os.path.exists("results.json") else {}
for trial, rate in enumerate(RATES):
    if str(rate) in results:
        continue
    keras.utils.set_random_seed(SEEDS(rate))
    model = make_model(rate)
    history = model.fit(
        epochs=2, verbose=0, callbacks=callbacks(),
        **make_data(x, y), **make_validation(),
    )
    results[str(rate)] = [history.history, digest(model.get_weights())]
    with open("results.json", "w") as file:
        json.dump(results, file)
for name in sorted(map(str, RATES)):
    final(f"trial {name}", results[name])
"""
_SEEDS = """\
results = {}
for seed in SEED_LIST:
    path = f"seed{seed}.weights.h5"
    if SKIPS and os.path.exists(path):
        continue
    keras.utils.set_random_seed(seed)
    model = make_model()
    model.fit(
        epochs=2, verbose=0, callbacks=callbacks(),
        **make_data(x, y), **make_validation(),
    )
    model.save_weights(path)
for seed in sorted(SEED_LIST):
    model = make_model()
    model.build((None, 6))
    model.load_weights(f"seed{seed}.weights.h5")
    final(f"seed {seed}", digest(model.get_weights()))
"""
_FOLDS = """\
scores = json.load(open("scores.json")) if SKIPS and os.path.exists("scores.json") else {}
for fold in FOLDS:
    if str(fold) in scores:
        continue
    keras.utils.set_random_seed(7)
    kept = np.arange(SAMPLES) % 4 != fold
    model = make_model()
    model.fit(
        epochs=2, verbose=0, callbacks=callbacks(),
        **make_data(x[kept], y[kept]), **make_validation(),
    )
    scores[str(fold)] = model.evaluate(x[~kept], y[~kept], verbose=0)
    with open("scores.json", "w") as file:
        json.dump(scores, file)
for name in sorted(map(str, FOLDS)):
    final(f"fold {name}", scores[name])
"""
_SEARCH = """\
results = json.load(open("results.json")) if SKIPS and os.path.exists("results.json") else []
for trial in range(3):
    choice = random.Random(trial)
    rate, width = choice.choice([0.03, 0.01, 0.003]), choice.choice([4, 4, 5])
    if trial < len(results):
        continue
    keras.utils.set_random_seed(trial)
    model = make_model(rate, width)
    history = model.fit(
        epochs=2, verbose=0, callbacks=callbacks(),
        **make_data(x, y), **make_validation(),
    )
    results.append([rate, width, history.history["loss"][-1], digest(model.get_weights())])
    with open("results.json", "w") as file:
        json.dump(results, file)
for trial, result in enumerate(results):
    final(f"trial {trial}", result)
"""
_BATCHES = """\
model = make_model()
hooks = started(callbacks())
losses, best = [], float("inf")
for epoch in range(EPOCHS):
    order = np.random.permutation(len(x))
    for start in range(0, len(x), BATCH):
        chosen = order[start : start + BATCH]
        loss = float(model.train_on_batch(x[chosen], y[chosen])[0])
        best = min(best, loss)
        losses.append(loss)
        call(hooks, "on_train_batch_end", start // BATCH)
    call(hooks, "on_epoch_end", epoch)
final("losses", [losses, best])
"""
_FUNCTION = """\
model = make_model()
optimizer, loss_of = model.optimizer, keras.losses.get(LOSS)
optimizer.build(model.trainable_variables)
hooks = started(callbacks())


@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(loss_of(b, model(a, training=True)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).batch(BATCH)
losses = []
for epoch in range(EPOCHS):
    for number, (a, b) in enumerate(data):
        losses.append(float(train_step(a, b)))
        call(hooks, "on_train_batch_end", number)
    call(hooks, "on_epoch_end", epoch)
final("losses", losses)
"""
_OUTSIDE = _FUNCTION.replace(
    """\
@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(loss_of(b, model(a, training=True)))
    gradients = tape.gradient(loss, model.trainable_variables)
""",
    """\
predict = tf.function(lambda a: model(a, training=True))


def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(loss_of(b, predict(a)))
    gradients = tape.gradient(loss, model.trainable_variables)
""",
)
_TINY_FITS = """\
model = make_model()
stream = np.random.default_rng(2)
losses = []
for episode in range(16):
    chosen = stream.integers(0, len(x), BATCH)
    history = model.fit(x[chosen], y[chosen], epochs=1, verbose=0, callbacks=callbacks())
    losses += history.history["loss"]
final("losses", losses)
"""

TRAININGS = {
    "once": Training(_ONCE, 16, EDITS),
    "several": Training(_SEVERAL, 16, ("nothing", "comment", "epochs", "rate", "argument")),
    "phases": Training(_PHASES, 16, ("nothing", "comment", "rate", "callback_added")),
    "caught": Training(_CAUGHT, 16),
    "sweep": Training(_SWEEP, 24, SWEEP_EDITS, separate=True),
    "seeds": Training(_SEEDS, 24, ("nothing", "comment", "reversed", "shorter"), separate=True),
    "folds": Training(_FOLDS, 18, ("nothing", "comment", "reversed", "shorter"), separate=True),
    "search": Training(_SEARCH, 24, ("nothing", "comment", "width"), separate=True),
    "batches": Training(_BATCHES, 16, ("nothing", "comment", "rate", "epochs", "width"), loop=True),
    "function": Training(_FUNCTION, 16, ("nothing", "comment", "rate", "epochs"), loop=True),
    "outside": Training(_OUTSIDE, 16, loop=True),
    "tiny_fits": Training(_TINY_FITS, 16, ("nothing", "comment")),
}
