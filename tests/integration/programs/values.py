"""Values that a script keeps: how each is made, changed, and read as a number."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Value:
    """Python source with `$it` for the place in which the value is held.

    Attributes:
        make: an expression for its first value.
        update: a statement that changes it.
        read: an expression for a number that tells its values apart.
        rebinds: `update` assigns to the place.
        in_file: it outlives the process that changes it.
    """

    make: str
    update: str
    read: str = "$it"
    rebinds: bool = False
    in_file: bool = False

    def updated(self, it: str) -> str:
        """The statement that changes it, held in `it`."""
        return Template(self.update).substitute(it=it)

    def number(self, it: str) -> str:
        """The expression for a number, held in `it`."""
        return Template(self.read).substitute(it=it)


VALUES = {
    "int": Value("0", "$it += 1", rebinds=True),
    "float": Value("1.0", "$it *= 0.9", rebinds=True),
    "bool": Value("False", "$it = not $it", "int($it)", rebinds=True),
    "complex": Value("1j", "$it *= 1 + 1j", "abs($it)", rebinds=True),
    "text": Value("''", "$it += 'x'", "len($it)", rebinds=True),
    "bytes": Value("b''", "$it += b'x'", "len($it)", rebinds=True),
    "none_then_dict": Value(
        "None", "$it = {'seen': 1 + ($it or {}).get('seen', 0)}", "($it or {}).get('seen', 0)", True
    ),
    "tuple": Value("()", "$it += (len($it),)", "sum($it)", rebinds=True),
    "named_tuple": Value(
        "Pair(0, 1)", "$it = $it._replace(first=$it.first + $it.second)", "$it.first", rebinds=True
    ),
    "fraction": Value(
        "fractions.Fraction(1)", "$it += fractions.Fraction(1, 3)", "float($it)", True
    ),
    "decimal": Value("decimal.Decimal(1)", "$it *= decimal.Decimal('0.9')", "float($it)", True),
    "date": Value(
        "datetime.date(2024, 1, 1)", "$it += datetime.timedelta(days=1)", "$it.toordinal()", True
    ),
    "enum": Value("Phase.WARM", "$it = $it.after()", "$it.value", rebinds=True),
    "frozen_set": Value("frozenset()", "$it = $it | {len($it)}", "len($it)", rebinds=True),
    "numpy_scalar": Value("np.float32(1)", "$it = $it * np.float32(0.9)", "float($it)", True),
    "new_array": Value("np.zeros(3)", "$it = $it + 1.0", "float($it.sum())", rebinds=True),
    "tensor": Value("tf.constant(1.0)", "$it = $it * 0.9", "float($it)", rebinds=True),
    "list": Value("[]", "$it.append(len($it))", "sum($it)"),
    "list_of_lists": Value(
        "[[0], [1]]", "$it[len($it[0]) % 2].append(1)", "len($it[0]) + 9 * len($it[1])"
    ),
    "dict": Value("{}", "$it[f'key{len($it)}'] = len($it)", "len($it)"),
    "dict_of_numbers": Value("{}", "$it[len($it)] = len($it)", "sum($it)"),
    "nested_dict": Value("{'a': {'n': 0}}", "$it['a']['n'] += 1", "$it['a']['n']"),
    "shared_list": Value("twice([])", "$it[0].append(1)", "len($it[1])"),
    "default_dict": Value("collections.defaultdict(int)", "$it['seen'] += 1", "$it['seen']"),
    "dict_of_lists": Value(
        "collections.defaultdict(list)", "$it['loss'].append(1)", "len($it['loss'])"
    ),
    "counter": Value("collections.Counter()", "$it['seen'] += 1", "$it['seen']"),
    "ordered_dict": Value(
        "collections.OrderedDict(a=0, b=1)",
        "$it.move_to_end(next(iter($it)))",
        "next(iter($it)) == 'a'",
    ),
    "deque": Value("collections.deque(maxlen=3)", "$it.append(sum($it) + 1)", "sum($it)"),
    "set": Value("set()", "$it.add(len($it))", "len($it)"),
    "byte_array": Value("bytearray()", "$it.append(1)", "len($it)"),
    "typed_array": Value("array.array('d', [0.0])", "$it[0] += 1", "$it[0]"),
    "heap": Value("[(0, 'a')]", "heapq.heappush($it, (len($it), 'b'))", "len($it)"),
    "array": Value("np.zeros(3)", "$it[0] += 1", "float($it[0])"),
    "array_shuffled": Value("np.arange(8)", "$it[:] = np.roll($it, 1)", "int($it[0])"),
    "object_array": Value("np.array([None, 0], object)", "$it[1] += 1", "$it[1]"),
    "large_array": Value("np.zeros(3000)", "$it[2999] += 1", "float($it[2999])"),
    "object": Value("Box()", "$it.number += 1", "$it.number"),
    "slots": Value("Slots()", "$it.number += 1", "$it.number"),
    "dataclass": Value("Record()", "$it.seen.append(1)", "len($it.seen)"),
    "list_subclass": Value("Log()", "$it.append(1)", "len($it)"),
    "dict_subclass": Value("Table()", "$it['n'] = $it.get('n', 0) + 1", "$it.get('n', 0)"),
    "linked": Value("Box(Box())", "$it.inner.number += 1", "$it.inner.number"),
    "numpy_generator": Value(
        "np.random.default_rng(3)",
        "$it.random()",
        "$it.bit_generator.state['state']['state'] % 997",
    ),
    "numpy_random_state": Value(
        "np.random.RandomState(3)", "$it.rand()", "int($it.get_state()[2])"
    ),
    "python_random": Value("random.Random(3)", "$it.random()", "$it.getstate()[1][-1]"),
    "next_random": Value(
        "random.Random(3)",
        "$it = random.Random($it.getrandbits(20))",
        "$it.getstate()[1][0] % 997",
        rebinds=True,
    ),
    "count": Value("itertools.count()", "next($it)", "int(repr($it)[6:-1])"),
    "list_iterator": Value("iter([0] * 500)", "next($it)", "$it.__length_hint__()"),
    "python_generator": Value("numbers()", "next($it)", "$it.gi_frame.f_locals.get('number', 0)"),
    "variable": Value("tf.Variable(0.0)", "$it.assign_add(1.0)", "float($it)"),
    "lookup_table": Value(
        "tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)",
        "$it.insert('n', $it.lookup('n') + 1)",
        "int($it.lookup('n'))",
    ),
    "seed_generator": Value("keras.random.SeedGenerator(3)", "$it.next()", "int($it.state[1])"),
    "model_weights": Value(
        "[]", "$it[:] = model.get_weights()", "float(sum(abs(each).sum() for each in $it))"
    ),
    "file": Value("'state.json'", "count_in_file($it)", "read_file($it)", in_file=True),
    "appended_file": Value("'lines.txt'", "append_line($it)", "read_lines($it)", in_file=True),
    "tensorflow_file": Value("'count.txt'", "count_by_tf($it)", "read_by_tf($it)", in_file=True),
    "files_that_are_there": Value("'mark'", "add_mark($it)", "count_marks($it)", in_file=True),
    "files_of_a_pattern": Value(
        "'epoch'",
        "open(f'{$it}-{time.time_ns()}.txt', 'w').close()",
        "len(glob.glob(f'{$it}-*.txt'))",
        in_file=True,
    ),
    "environment": Value(
        "'PROGRAM_STATE'",
        "os.environ[$it] = str(int(os.environ.get($it, 0)) + 1)",
        "int(os.environ.get($it, 0))",
    ),
}
"""Kinds of state, from those that JSON carries to those that nothing restores."""

DEFINITIONS = """\
Pair = collections.namedtuple("Pair", "first second")


class Phase(enum.Enum):
    WARM, TRAIN, COOL = 1, 2, 3

    def after(self):
        return Phase(self.value % 3 + 1)


class Box:
    def __init__(self, inner=None):
        self.number, self.inner = 0, inner


class Slots:
    __slots__ = ("number",)

    def __init__(self):
        self.number = 0


@dataclasses.dataclass
class Record:
    seen: list = dataclasses.field(default_factory=list)


class Log(list):
    pass


class Table(dict):
    pass


def twice(it):
    return [it, it]


def numbers():
    number = 0
    while True:
        number += 1
        yield number


def count_in_file(path):
    seen = read_file(path)
    with open(path, "w") as file:
        json.dump(seen + 1, file)


def read_file(path):
    return json.load(open(path)) if os.path.exists(path) else 0


def append_line(path):
    with open(path, "a") as file:
        file.write("x\\n")


def read_lines(path):
    return len(open(path).readlines()) if os.path.exists(path) else 0


def count_by_tf(path):
    tf.io.write_file(path, str(read_by_tf(path) + 1))


def read_by_tf(path):
    return int(tf.io.read_file(path).numpy()) if tf.io.gfile.exists(path) else 0


def count_marks(name):
    return next(number for number in itertools.count() if not os.path.exists(f"{name}{number}"))


def add_mark(name):
    open(f"{name}{count_marks(name)}", "w").close()
"""
"""What the values need in the script."""

MADE_PLAIN_BY_KERAS = frozenset({"default_dict", "dict_of_lists", "counter", "ordered_dict"})
"""As attributes of a model they become other dictionaries, which fail where these do not."""
