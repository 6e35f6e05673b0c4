"""How the cells of the exactness matrix train: each a function that is given a `Trainer`."""

import numpy as np
import tensorflow as tf
from matrix_inputs import BATCH, STEPS, STREAM, WIDTH
from which_keras import apply, keras

layers = keras.layers
LOSS = "sparse_categorical_crossentropy"


def network(*more):
    return keras.Sequential(
        [
            keras.Input((WIDTH,)),
            layers.Dense(12, name="first"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(0.3),
            *more,
            layers.Dense(4, activation="softmax", dtype="float32"),
        ]
    )


def compiled(model, optimizer="adam", **settings):
    model.compile(optimizer, LOSS, metrics=["accuracy"], **settings)
    return model


def sequential(trainer):
    trainer.fit(compiled(network()))


def unbuilt(trainer):
    model = keras.Sequential([layers.Dense(12), layers.Dropout(0.3), layers.Dense(4, "softmax")])
    trainer.fit(compiled(model))


class OwnStep(keras.Model):
    """A subclassed model with a training step and a loss tracker of its own."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(12, "relu")
        self.dropout = layers.Dropout(0.2)
        self.out = layers.Dense(4, "softmax")
        self.tracker = keras.metrics.Mean("loss")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, inputs, training=False):
        return self.out(self.dropout(self.hidden(inputs), training=training))

    def train_step(self, data):
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            losses = keras.losses.sparse_categorical_crossentropy(y, self(x, training=True))
            loss = tf.reduce_mean(losses if weights is None else losses * weights)
        gradients = tape.gradient(loss, self.trainable_variables)
        apply(self.optimizer, gradients, self.trainable_variables)
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result(), "rate": self.optimizer.learning_rate}

    def test_step(self, data):
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        self.tracker.update_state(keras.losses.sparse_categorical_crossentropy(y, self(x)))
        return {"loss": self.tracker.result()}


def own_train_step(trainer):
    model = OwnStep()
    model.compile("adam")
    trainer.fit(model)


class Gan(keras.Model):
    """Two networks and two optimizers in one step, with a seed generator of its own."""

    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(5)
        self.generator = keras.Sequential([layers.Dense(12, "relu"), layers.Dense(WIDTH)])
        self.critic = keras.Sequential([layers.Dense(12, "relu"), layers.Dropout(0.2)])
        self.verdict = layers.Dense(1)
        self.first, self.second = keras.optimizers.Adam(0.01), keras.optimizers.RMSprop(0.02)

    def judged(self, x):
        return self.verdict(self.critic(x, training=True))

    def train_step(self, data):
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        noise = keras.random.normal((tf.shape(x)[0], 6), seed=self.seeds)
        with tf.GradientTape() as tape:
            made = self.judged(self.generator(noise, training=True))
            critic_loss = tf.reduce_mean(tf.nn.softplus(made) + tf.nn.softplus(-self.judged(x)))
        watched = [*self.critic.trainable_variables, *self.verdict.trainable_variables]
        apply(self.second, tape.gradient(critic_loss, watched), watched)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softplus(-self.judged(self.generator(noise))))
        watched = self.generator.trainable_variables
        apply(self.first, tape.gradient(loss, watched), watched)
        return {"loss": loss, "critic": critic_loss}

    def call(self, inputs):
        return self.verdict(self.critic(inputs))


def gan(trainer):
    model = Gan()
    model.compile()
    trainer.fit(model, validation_data=None, validation_split=0.0)


def phases(trainer):
    """Fine-tuning: a frozen layer first, then all of it with another optimizer."""
    model = network()
    model.get_layer("first").trainable = False
    trainer.fit(compiled(model), epochs=2)
    model.get_layer("first").trainable = True
    trainer.fit(compiled(model, keras.optimizers.SGD(0.01, momentum=0.9)), epochs=2)


def folds(trainer):
    """A model anew for each fold."""
    for _ in range(3):
        trainer.fit(compiled(network()), epochs=1)


def folds_cleared(trainer):
    """The same, the session cleared in between, as its documentation advises."""
    for _ in range(3):
        keras.backend.clear_session()
        trainer.fit(compiled(network()), epochs=1)


def many_fits(trainer):
    """A loop around `fit`, each for one more epoch."""
    model = compiled(network())
    for epoch in range(4):
        trainer.fit(model, initial_epoch=epoch, epochs=epoch + 1)


def mixed_precision(trainer):
    keras.mixed_precision.set_global_policy("mixed_float16")
    trainer.fit(compiled(network()))


def loss_scaling(trainer):
    inner = keras.optimizers.Adam(0.01)
    scaled = keras.optimizers.LossScaleOptimizer(inner, 2.0**8, dynamic_growth_steps=5)
    trainer.fit(compiled(network(), scaled))


def ema(trainer):
    optimizer = keras.optimizers.Adam(
        0.01, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=5
    )
    trainer.fit(compiled(network(), optimizer))


def swapped_ema(trainer):
    optimizer = keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.9)
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
    trainer.fit(compiled(network(), optimizer), callbacks=[swap])


def accumulation(trainer):
    optimizer = keras.optimizers.Adam(0.01, gradient_accumulation_steps=5)
    trainer.fit(compiled(network(), optimizer))


def schedule(trainer):
    rate = keras.optimizers.schedules.CosineDecay(0.02, 30, warmup_target=0.05, warmup_steps=5)
    trainer.fit(compiled(network(), keras.optimizers.AdamW(rate, clipnorm=1.0)))


def scheduled_by_callback(trainer):
    halved = keras.callbacks.LearningRateScheduler(lambda _, rate: rate * 0.5)
    trainer.fit(compiled(network(), keras.optimizers.SGD(0.1)), callbacks=[halved])


def jit(trainer):
    trainer.fit(compiled(network(), jit_compile=True))


def steps_per_execution(trainer):
    trainer.fit(compiled(network(), steps_per_execution=4), stride=4)


def uneven_steps_per_execution(trainer):
    trainer.fit(compiled(network(), steps_per_execution=5), stride=5)


def eager(trainer):
    trainer.fit(compiled(network(), run_eagerly=True))


def evaluates_between(trainer):
    model = compiled(network())
    x = np.random.default_rng(3).normal(size=(40, WIDTH)).astype("float32")
    for _ in range(2):
        trainer.fit(model, epochs=2)
        trainer.note("evaluated", model.evaluate(x, np.arange(40) % 4, verbose=0))
        trainer.note("predicted", model.predict(x, verbose=0).sum(axis=0).tolist())


class Evaluates(keras.callbacks.Callback):
    """Evaluates the model on other data after each epoch."""

    def __init__(self):
        super().__init__()
        self.results = []

    def on_epoch_end(self, epoch, logs=None):
        x = np.random.default_rng(epoch).normal(size=(40, WIDTH)).astype("float32")
        self.results.append(self.model.evaluate(x, np.arange(40) % 4, verbose=0))


def evaluates_in_callback(trainer):
    evaluates = Evaluates()
    trainer.fit(compiled(network()), callbacks=[evaluates])
    trainer.note("evaluated", evaluates.results)


def noise_layers(trainer):
    noisy = (layers.GaussianNoise(0.1), layers.GaussianDropout(0.1), layers.AlphaDropout(0.1))
    trainer.fit(compiled(network(*noisy)))


def recurrent(trainer):
    model = keras.Sequential(
        [
            keras.Input((WIDTH,)),
            layers.Reshape((4, WIDTH // 4)),
            layers.LSTM(6, dropout=0.1, recurrent_dropout=0.2, return_sequences=True),
            layers.Bidirectional(layers.GRU(5)),
            layers.Dense(4, "softmax"),
        ]
    )
    trainer.fit(compiled(model))


def stateful_recurrent(trainer):
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(BATCH, WIDTH)),
            layers.Reshape((4, WIDTH // 4)),
            layers.LSTM(6, stateful=True),
            layers.Dense(4, "softmax"),
        ]
    )
    trainer.fit(compiled(model))


def many_metrics(trainer):
    model = network()
    model.compile(
        keras.optimizers.Nadam(0.01),
        LOSS,
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)],
        weighted_metrics=["sparse_categorical_crossentropy"],
        auto_scale_loss=False,
    )
    trainer.fit(model)


def writes_models(trainer):
    """The callbacks that write files, and the one that ends early."""
    trainer.fit(
        compiled(network()),
        callbacks=[
            keras.callbacks.ModelCheckpoint("best.keras", monitor="loss", save_best_only=True),
            keras.callbacks.CSVLogger("log.csv"),
            keras.callbacks.EarlyStopping("loss", patience=1, min_delta=0.5),
            keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=1.0),
            keras.callbacks.TerminateOnNaN(),
        ],
    )
    trainer.note("best", keras.models.load_model("best.keras").count_params())


def counted_random(trainer):
    """A step that draws from TensorFlow's own stream."""
    noise = layers.Lambda(lambda x: x + 0.1 * tf.random.normal(tf.shape(x)))
    trainer.fit(compiled(network(noise)))


def hidden_random(trainer):
    """The same in a loop of the step."""

    def noisy(x):
        return tf.map_fn(lambda row: row + 0.1 * tf.random.normal(tf.shape(row)), x)

    trainer.fit(compiled(network(layers.Lambda(noisy))))


def own_generator(trainer):
    """A layer that draws from a `tf.random.Generator`."""
    stream = tf.random.Generator.from_seed(6)
    noise = layers.Lambda(lambda x: x + 0.1 * stream.normal(tf.shape(x)))
    trainer.fit(compiled(network(noise)))


def two_outputs(trainer):
    first = keras.Input((WIDTH,))
    shared = layers.Dropout(0.2)(layers.Dense(12, "relu")(first))
    outputs = [layers.Dense(4, "softmax", name=name)(shared) for name in ("one", "two")]
    model = keras.Model(first, layers.Average()(outputs))
    trainer.fit(compiled(model, "adagrad"))


def epochs_of_part(trainer):
    """`steps_per_epoch` shorter than the data: the iterator goes on in the next epoch."""
    trainer.fit(compiled(network()), steps_per_epoch=STEPS // 2 - 1, epochs=6)


class Draws(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        STREAM.normal()


def draws_in_callback(trainer):
    """From the stream that some inputs draw from too."""
    trainer.fit(compiled(network()), callbacks=[Draws()])
