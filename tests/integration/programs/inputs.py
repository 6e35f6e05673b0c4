"""Forms in which a program has its data."""

from __future__ import annotations

HEAD = """\
SAMPLES, BATCH = 48, 12
source = np.random.default_rng(DATA_SEED)
x = source.normal(size=(SAMPLES, 6)).astype("float32")
y = (x.sum(1, keepdims=True) + source.normal(size=(SAMPLES, 1))).astype("float32")
x_other, y_other = x[::-1][:24].copy(), y[::-1][:24] + 0.5
"""
"""The arrays that everything is made of: four batches."""

_ARRAYS = """\
def make_data(x, y):
    return {"x": x, "y": y, "batch_size": BATCH}
"""
_SPLIT = """\
def make_data(x, y):
    x, y = np.concatenate([x, x_other[:16]]), np.concatenate([y, y_other[:16]])
    return {"x": x, "y": y, "batch_size": BATCH, "validation_split": 0.25}
"""
_WEIGHTS = """\
emphasis = np.ones(SAMPLES, "float32")


def make_data(x, y):
    emphasis[: len(x) // 2] *= 0.8
    return {"x": x, "y": y, "sample_weight": emphasis[: len(x)], "batch_size": BATCH}
"""
_TF_DATA = """\
def make_data(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y))
    return {"x": data.shuffle(SAMPLES).batch(BATCH).prefetch(1)}
"""
_TF_DATA_REPEATED = """\
def make_data(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES, seed=3).repeat()
    return {"x": data.batch(BATCH), "steps_per_epoch": len(x) // BATCH}
"""
_TF_DATA_AUGMENTED = """\
def make_data(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(SAMPLES).batch(BATCH)
    noise = tf.random.Generator.from_seed(5)
    return {"x": data.map(lambda a, b: (a + noise.normal(tf.shape(a), stddev=0.1), b))}
"""
_TF_DATA_HIDDEN_RANDOM = """\
def make_data(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    return {"x": data.map(lambda a, b: (a + tf.random.normal(tf.shape(a), stddev=0.1), b))}
"""
_TF_DATA_GENERATOR = """\
def make_data(x, y):
    def rows():
        for index in np.random.permutation(len(x)):
            yield x[index], y[index]

    spec = tf.TensorSpec([6]), tf.TensorSpec([1])
    return {"x": tf.data.Dataset.from_generator(rows, output_signature=spec).batch(BATCH)}
"""
_TF_DATA_FUNCTION = """\
def make_data(x, y):
    def noisy(a):
        return a + np.random.normal(0, 0.1, a.shape).astype("float32")

    def mapped(a, b):
        return tf.ensure_shape(tf.numpy_function(noisy, [a], tf.float32), [None, 6]), b

    return {"x": tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).map(mapped)}
"""
_TF_DATA_CALLS = """\
calls = [0]


def make_data(x, y):
    def damped(a):
        calls[0] += 1
        return a * np.float32(0.99 ** calls[0])

    def mapped(a, b):
        return tf.ensure_shape(tf.py_function(damped, [a], tf.float32), [None, 6]), b

    return {"x": tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).map(mapped)}
"""
_FROM_GENERATOR = """\
$before
def make_data(x, y):
    $begin

    def rows():
        $rows

    spec = tf.TensorSpec([6]), tf.TensorSpec([1])
    data = tf.data.Dataset.from_generator(rows, output_signature=spec)
    return {"x": data$stages$more}
"""


def _from_generator(
    rows: str,
    begin: str = "pass",
    stages: str = ".batch(BATCH)",
    more: str = "",
    before: str = "",
) -> str:
    parts = {"rows": rows, "begin": begin, "stages": stages, "more": more, "before": before}
    text = _FROM_GENERATOR
    for name, part in parts.items():
        text = text.replace(f"${name}", part)
    return text


_EACH = """
        for index in order:
            yield x[index], y[index]"""
_FOR_EVER = ', "steps_per_epoch": len(x) // BATCH'
_ROWS_OBJECT = """\
class Rows:
    def __init__(self, x, y):
        self.x, self.y, self.epoch, self.order = x, y, 0, list(range(len(x)))

    def __call__(self):
        self.epoch += 1
        random.shuffle(self.order)
        for index in self.order:
            yield self.x[index] * np.float32(1 + 0.1 * self.epoch), self.y[index]


"""


def _tf_data(stages: str) -> str:
    return f"""\
def make_data(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y))
    return {{"x": {stages}}}
"""


_CSV = """\
def make_data(x, y):
    np.savetxt("rows.csv", np.concatenate([x, y], 1), delimiter=",")
    data = tf.data.experimental.CsvDataset(["rows.csv"], [tf.float32] * 7).shuffle(20)
    return {"x": data.map(lambda *row: (tf.stack(row[:6]), tf.stack(row[6:]))).batch(BATCH)}
"""
_IN_PYTHON = """\
def make_data(x, y):
    def halved(a):
        return a / 2

    def mapped(a, b):
        return tf.ensure_shape(tf.numpy_function(halved, [a], tf.float32), [6]), b

    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(48).map(mapped)
    return {"x": data.shuffle(9).batch(BATCH)}
"""
_CAPTURED = (
    "(lambda rows: tf.data.Dataset.range(2).flat_map(lambda i: rows.shard(2, i)))({}).batch(BATCH)"
)


_GENERATOR = """\
def make_data(x, y):
    def batches():
        stream = np.random.default_rng(4)
        while True:
            chosen = stream.integers(0, len(x), BATCH)
            yield x[chosen], y[chosen]

    return {"x": batches(), "steps_per_epoch": len(x) // BATCH}
"""
_GENERATOR_SHUFFLES = """\
def make_data(x, y):
    def batches(x, y):
        while True:
            order = np.random.permutation(len(x))
            x[:], y[:] = x[order], y[order]
            for start in range(0, len(x), BATCH):
                yield x[start : start + BATCH], y[start : start + BATCH]

    return {"x": batches(x.copy(), y.copy()), "steps_per_epoch": len(x) // BATCH}
"""
_GENERATOR_SHARED = """\
order = np.arange(SAMPLES)


def make_data(x, y):
    def batches():
        while True:
            random.shuffle(order)
            for start in range(0, SAMPLES, BATCH):
                chosen = order[start : start + BATCH] % len(x)
                yield x[chosen], y[chosen]

    return {"x": batches(), "steps_per_epoch": len(x) // BATCH}
"""
_GENERATOR_OBJECT = """\
class Batches:
    def __init__(self, x, y):
        self.x, self.y, self.drawn = x, y, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.drawn += 1
        chosen = (np.arange(BATCH) * self.drawn) % len(self.x)
        return self.x[chosen], self.y[chosen]


def make_data(x, y):
    source = Batches(x, y)
    return {"x": (each for each in source), "steps_per_epoch": len(x) // BATCH}
"""

_DATASET_HEAD = """\
class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, **options):
        super().__init__(**options)
        self.x, self.y = x.copy(), y.copy()
        $begin

    def __len__(self):
        return len(self.x) // BATCH

    def __getitem__(self, index):
        chosen = $chosen
        return self.x[chosen]$scale, self.y[chosen]

    def on_epoch_end(self):
        $end


def make_data(x, y):
    return {"x": Batches(x, y$options), "shuffle": False}
"""


def _dataset(
    begin: str = "pass",
    end: str = "pass",
    chosen: str = "slice(index * BATCH, (index + 1) * BATCH)",
    scale: str = "",
    options: str = "",
) -> str:
    parts = {"begin": begin, "end": end, "chosen": chosen, "scale": scale, "options": options}
    text = _DATASET_HEAD
    for name, part in parts.items():
        text = text.replace(f"${name}", part)
    return text


_ORDER = "self.order[index * BATCH : (index + 1) * BATCH]"

DATA = {
    "arrays": _ARRAYS,
    "arrays_split": _SPLIT,
    "sample_weights": _WEIGHTS,
    "tf_data": _TF_DATA,
    "tf_data_repeated": _TF_DATA_REPEATED,
    "tf_data_augmented": _TF_DATA_AUGMENTED,
    "tf_data_hidden_random": _TF_DATA_HIDDEN_RANDOM,
    "tf_data_generator": _TF_DATA_GENERATOR,
    "tf_data_function": _TF_DATA_FUNCTION,
    "tf_data_calls": _TF_DATA_CALLS,
    "from_generator_stream": _from_generator(
        f"order = stream.permutation(len(x)){_EACH}", "stream = np.random.default_rng(3)"
    ),
    "from_generator_unseeded": _from_generator(
        f"order = stream.permutation(len(x)){_EACH}", "stream = np.random.default_rng()"
    ),
    "from_generator_counts": _from_generator(
        f"calls.append(1)\n        order = np.roll(np.arange(len(x)), len(calls)){_EACH}",
        "calls = []",
    ),
    "from_generator_global": _from_generator(
        f"HARDNESS[0] += 1\n        order = np.arange(len(x)) % (40 // HARDNESS[0]){_EACH}",
        before="HARDNESS = [0]\n\n",
    ),
    "from_generator_object": _from_generator(
        "yield from source()", "source = Rows(x, y)", before=_ROWS_OBJECT
    ),
    "from_generator_table": _from_generator(
        f"table.insert('n', table.lookup('n') + 1)\n"
        f"        order = np.roll(np.arange(len(x)), int(table.lookup('n'))){_EACH}",
        "table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)",
    ),
    "from_generator_shuffled": _from_generator(
        f"order = np.random.permutation(len(x)){_EACH}", stages=".shuffle(9).batch(BATCH)"
    ),
    "from_generator_cached": _from_generator(
        f"order = np.random.permutation(len(x)){_EACH}", stages=".cache().batch(BATCH)"
    ),
    "from_generator_repeated": _from_generator(
        f"order = np.random.permutation(len(x)){_EACH}",
        stages=".repeat().batch(BATCH).prefetch(1)",
        more=_FOR_EVER,
    ),
    "from_generator_for_ever": _from_generator(
        f"order = np.random.randint(0, len(x), 10_000){_EACH}",
        stages=".batch(BATCH).prefetch(4)",
        more=_FOR_EVER,
    ),
    "tf_data_sampled": _tf_data(
        "tf.data.Dataset.sample_from_datasets([data.shuffle(9), data.skip(9).shuffle(9)], [0.5] * 2"
        ").batch(BATCH)"
    ),
    "tf_data_interleaved": _tf_data(
        "tf.data.Dataset.range(4).shuffle(4).interleave(lambda i: data.shard(4, i).shuffle(9),"
        " num_parallel_calls=2).batch(BATCH)"
    ),
    "tf_data_windows": _tf_data(
        "data.shuffle(20).group_by_window(lambda a, b: tf.cast(b[0] > 0, tf.int64),"
        " lambda key, rows: rows.batch(BATCH), window_size=BATCH)"
    ),
    "tf_data_cached_shuffle": _tf_data("data.shuffle(48).batch(BATCH).cache()"),
    "tf_data_cached_twice": _tf_data("data.shuffle(48).cache().shuffle(48).batch(BATCH)"),
    "tf_data_cached_batches": _tf_data("data.shuffle(48).batch(BATCH).cache().shuffle(9)"),
    "tf_data_scanned": _tf_data(
        "data.shuffle(20).scan(0.0, lambda s, row: (s + 0.1, (row[0] * (1 + s), row[1])))"
        ".batch(BATCH)"
    ),
    "tf_data_csv": _CSV,
    "tf_data_shuffled_twice": _tf_data("data.shuffle(48).shuffle(9).batch(BATCH)"),
    "tf_data_function_between": _IN_PYTHON,
    "tf_data_parts": _tf_data(
        "data.take(24).shuffle(24).concatenate(data.skip(24).shuffle(24)).batch(BATCH)"
    ),
    "tf_data_captured": _tf_data(_CAPTURED.format("data.shuffle(20)")),
    "tf_data_captured_cache": _tf_data(_CAPTURED.format("data.shuffle(20).cache()")),
    "tf_data_any_order": _tf_data(
        "data.interleave(lambda a, b: tf.data.Dataset.from_tensors((a, b)),"
        " num_parallel_calls=2, deterministic=False).batch(BATCH)"
    ),
    "tf_data_swallowed_random": _tf_data(
        "data.map(lambda a, b: (a + tf.random.normal([6]), b)).shuffle(99).batch(BATCH)"
    ),
    "from_generator_swallowed": _from_generator(
        f"order = np.random.permutation(len(x)){_EACH}", stages=".shuffle(99).batch(BATCH)"
    ),
    "generator": _GENERATOR,
    "generator_shuffles": _GENERATOR_SHUFFLES,
    "generator_shared": _GENERATOR_SHARED,
    "generator_object": _GENERATOR_OBJECT,
    "dataset": _dataset(),
    "dataset_workers": _dataset(options=", workers=2"),
    "dataset_order": _dataset(
        "self.order = np.arange(len(x))", "np.random.shuffle(self.order)", _ORDER
    ),
    "dataset_own_stream": _dataset(
        "self.order, self.stream = np.arange(len(x)), np.random.default_rng(1)",
        "self.order = self.stream.permutation(len(self.x))",
        _ORDER,
    ),
    "dataset_shuffles_arrays": _dataset(
        end="order = np.random.permutation(len(self.x))\n"
        "        self.x, self.y = self.x[order], self.y[order]"
    ),
    "dataset_shuffles_in_place": _dataset(
        end="order = np.random.permutation(len(self.x))\n"
        "        self.x[:], self.y[:] = self.x[order], self.y[order]"
    ),
    "dataset_counts": _dataset(
        "self.epoch = 0", "self.epoch += 1", scale=" * (1 + 0.1 * self.epoch)"
    ),
    "dataset_list": _dataset(
        "self.order = list(range(len(x)))", "random.shuffle(self.order)", _ORDER
    ),
    "dataset_box": _dataset(
        "self.box = Box()", "self.box.number += 1", scale=" * (1 + 0.1 * self.box.number)"
    ),
    "dataset_deque": _dataset(
        "self.order = collections.deque(range(len(x)))",
        "self.order.rotate(5)",
        "[self.order[each] for each in range(index * BATCH, (index + 1) * BATCH)]",
    ),
    "dataset_reads": _dataset(
        "self.reads = collections.Counter()",
        "self.reads['epoch'] += 1",
        scale=" * (1 + 0.1 * self.reads['epoch'])",
    ),
    "dataset_global": _dataset(
        end="LEVEL['hardness'] += 1", scale=" * (1 + 0.1 * LEVEL['hardness'])"
    ).replace("class Batches", "LEVEL = {'hardness': 0}\n\n\nclass Batches"),
}

_VALIDATION_GENERATOR = """\
def endless():
    index = 0
    while True:
        chosen = (np.arange(8) + 5 * index) % len(x_other)
        index += 1
        yield x_other[chosen], y_other[chosen]


validation = endless()


def make_validation():
    return {"validation_data": validation, "validation_steps": 2}
"""

VALIDATIONS = {
    "none": "def make_validation():\n    return {}\n",
    "arrays": "def make_validation():\n    return {'validation_data': (x_other, y_other)}\n",
    "tf_data": (
        "def make_validation():\n"
        "    data = tf.data.Dataset.from_tensor_slices((x_other, y_other))\n"
        "    return {'validation_data': data.shuffle(24).take(16).batch(8)}\n"
    ),
    "tf_data_cached": (
        "def make_validation():\n"
        "    data = tf.data.Dataset.from_tensor_slices((x_other, y_other))\n"
        "    return {'validation_data': data.shuffle(24).batch(5).cache().prefetch(1)}\n"
    ),
    "generator": _VALIDATION_GENERATOR,
    "every_second_epoch": (
        "def make_validation():\n"
        "    return {'validation_data': (x_other, y_other), 'validation_freq': 2}\n"
    ),
}
