"""Places in which a script keeps state, and what changes it there."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from textwrap import indent

from tests.integration.programs.values import Value

HOOKS = {"batch": "on_train_batch_end", "epoch": "on_epoch_end"}
BOTH = ("batch", "epoch")


@dataclass(frozen=True)
class Place:
    """Python source with `$n` for the holder's number, `$make`, `$hook` and `$change`.

    `$change` is the block that updates the value and applies its effect.

    Attributes:
        it: how the value is called where it is changed.
        define: statements of the module.
        callback: an expression for the callback that changes it.
        read: an expression for the value at the script's end.
        fresh: each `callbacks()` has a value of its own.
        rebinds: the value may be replaced by another one.
        events: when it may change.
        in_loops: it goes with a loop of the script's own.
        sets_rate: it does not go with a schedule in the optimizer.
    """

    it: str
    define: str
    callback: str
    read: str
    fresh: bool = False
    rebinds: bool = True
    events: tuple[str, ...] = BOTH
    in_loops: bool = True
    sets_rate: bool = False

    def source(self, number: int, value: Value, event: str, effect: str) -> str:
        """The statements of the module."""
        it = Template(self.it).substitute(n=number)
        change = "\n".join([value.updated(it), *([_follow(value, it)] if effect == "rate" else [])])
        spaces = " " * (8 if "\n        $change" in self.define else 4)
        return Template(self.define).substitute(
            n=number,
            make=value.make,
            hook=HOOKS[event],
            change=indent(change, spaces).strip(),
        )

    def callback_source(self, number: int, event: str) -> str:
        """The expression for the callback."""
        return Template(self.callback).substitute(n=number, hook=HOOKS[event])

    def number_source(self, number: int, value: Value) -> str:
        """The expression for what is reported."""
        return value.number(Template(self.read).substitute(n=number))


def _follow(value: Value, it: str) -> str:
    return f"follow(model, {value.number(it)})"


_LAMBDA = "keras.callbacks.LambdaCallback($hook=after$n)"

_CALLBACK_CLASS = """\
class Hook$n(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.held = $make

    def $hook(self, number, logs=None):
        $change
"""
_CLASS_ATTRIBUTE = """\
class Hook$n(keras.callbacks.Callback):
    held = $make

    def $hook(self, number, logs=None):
        $change
"""
_CLOSURE = """\
def make_after$n():
    held = $make

    def after(number, logs=None):
        nonlocal held
        $change

    return after, lambda: held


after$n, read$n = make_after$n()
"""
_FRESH_CLOSURE = """\
read$n = None


def make_after$n():
    global read$n
    held = $make
    read$n = lambda: held

    def after(number, logs=None):
        nonlocal held
        $change

    return after
"""
_GLOBAL = """\
held$n = $make


def after$n(number, logs=None):
    global held$n
    $change
"""
_TABLE = """\
STATE$n = {"held": $make}


def after$n(number, logs=None):
    $change
"""
_DEFAULT = """\
def after$n(number, logs=None, held=[$make]):
    $change
"""
_FUNCTION_ATTRIBUTE = """\
def after$n(number, logs=None):
    $change


after$n.held = $make
"""
_DATACLASS = """\
@dataclasses.dataclass
class State$n:
    held: object = dataclasses.field(default_factory=lambda: $make)


state$n = State$n()


def after$n(number, logs=None):
    $change
"""
_BOUND = """\
class Tracker$n:
    def __init__(self):
        self.held = $make

    def after(self, number, logs=None):
        $change


tracker$n = Tracker$n()
"""
_PARTIAL = """\
def follow$n(box, number, logs=None):
    $change


box$n = [$make]
"""
_GENERATOR = """\
def walk$n():
    held = $make
    while True:
        $change
        yield held


walker$n = walk$n()
last$n = [$make]


def after$n(number, logs=None):
    last$n[0] = next(walker$n)
"""
_MODULE = """\
import helper

helper.held$n = $make


def after$n(number, logs=None):
    $change
"""
_MODEL = """\
def after$n(number, logs=None):
    if not hasattr(model, "held$n"):
        model.held$n = $make
    $change
"""
_METACLASS_REGISTRY = """\
class Registry$n:
    found = {}


Registry$n.found["held"] = $make


def after$n(number, logs=None):
    $change
"""
_CALLABLE = """\
class Schedule$n:
    def __init__(self):
        self.held = $make

    def __call__(self, epoch, rate):
        number = epoch
        $change
        return float(rate)


schedule$n = Schedule$n()
"""
_CONTEXT = """\
context$n = contextvars.ContextVar("held$n")
context$n.set([$make])


def after$n(number, logs=None):
    held = context$n.get()
    $change
"""
_LISTENERS = """\
def listener$n():
    held = [$make]

    def heard(number):
        $change

    heard.held = held
    return heard


listeners$n = [listener$n()]


def after$n(number, logs=None):
    for each in listeners$n:
        each(number)
"""

PLACES = {
    "callback_attribute": Place(
        "self.held", _CALLBACK_CLASS, "keep($n, Hook$n())", "KEPT[$n].held", fresh=True
    ),
    "class_attribute": Place("Hook$n.held", _CLASS_ATTRIBUTE, "Hook$n()", "Hook$n.held"),
    "closure": Place("held", _CLOSURE, _LAMBDA, "read$n()"),
    "fresh_closure": Place(
        "held",
        _FRESH_CLOSURE,
        "keras.callbacks.LambdaCallback($hook=make_after$n())",
        "read$n()",
        fresh=True,
    ),
    "global": Place("held$n", _GLOBAL, _LAMBDA, "held$n"),
    "global_by_lambda": Place(
        "held$n",
        _GLOBAL,
        "keras.callbacks.LambdaCallback($hook=lambda number, logs: after$n(number))",
        "held$n",
    ),
    "table": Place('STATE$n["held"]', _TABLE, _LAMBDA, 'STATE$n["held"]'),
    "default_argument": Place("held[0]", _DEFAULT, _LAMBDA, "after$n.__defaults__[1][0]"),
    "function_attribute": Place("after$n.held", _FUNCTION_ATTRIBUTE, _LAMBDA, "after$n.held"),
    "dataclass": Place("state$n.held", _DATACLASS, _LAMBDA, "state$n.held"),
    "bound_method": Place(
        "self.held",
        _BOUND,
        "keras.callbacks.LambdaCallback($hook=tracker$n.after)",
        "tracker$n.held",
    ),
    "partial": Place(
        "box[0]",
        _PARTIAL,
        "keras.callbacks.LambdaCallback($hook=functools.partial(follow$n, box$n))",
        "box$n[0]",
    ),
    "generator_local": Place("held", _GENERATOR, _LAMBDA, "last$n[0]"),
    "module": Place("helper.held$n", _MODULE, _LAMBDA, "helper.held$n"),
    "model_attribute": Place("model.held$n", _MODEL, _LAMBDA, "model.held$n"),
    "class_table": Place(
        'Registry$n.found["held"]', _METACLASS_REGISTRY, _LAMBDA, 'Registry$n.found["held"]'
    ),
    "schedule_object": Place(
        "self.held",
        _CALLABLE,
        "keras.callbacks.LearningRateScheduler(schedule$n)",
        "schedule$n.held",
        events=("epoch",),
        in_loops=False,
        sets_rate=True,
    ),
    "context_variable": Place("held[0]", _CONTEXT, _LAMBDA, "context$n.get()[0]"),
    "listener": Place("held[0]", _LISTENERS, _LAMBDA, "listeners$n[0].held[0]"),
}
"""From what everybody writes to what somebody does."""
