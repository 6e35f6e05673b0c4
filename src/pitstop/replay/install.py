"""Puts the recorder into TensorFlow and Keras: one thin function per hook point."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import h5py
import tensorflow as tf

from pitstop.engine.earlier_files import EARLIER
from pitstop.engine.fence import observing
from pitstop.engine.session import Session
from pitstop.replay.calls import Call, FunctionCall, MethodCall
from pitstop.replay.closures import ClosureCall, Closures, CoordinatorCall
from pitstop.replay.recorder import Recorder
from pitstop.tensorflow import drawn_inputs, private, variable_use
from pitstop.tensorflow.schedule import SCHEDULE
from pitstop.tensorflow.traced_ops import OpKind
from pitstop.tensorflow.variables import VariableRegistry

WATCHED_METHODS = ("train_on_batch", "test_on_batch", "predict_on_batch", "evaluate", "predict")


def watch_functions(
    registry: VariableRegistry, open_session: Callable[[], Session | None]
) -> Recorder:
    recorder = Recorder(open_session, registry)
    private.replace_function_call(functools.partial(_function_call, recorder))
    variable_use.around_read(recorder.reads, recorder.has_read)
    variable_use.after_write(observing(spoils=True)(recorder.eager.wrote))
    variable_use.after_gradient(observing()(recorder.eager.took_gradients))
    private.around_checkpoint_writes(recorder.writes)
    _watch_readers()
    private.on_traced_op(
        {
            OpKind.RANDOM: recorder.traced.random_op,
            OpKind.STATE: recorder.traced.state_op,
            OpKind.INPUT: recorder.traced.input_op,
        }
    )
    drawn_inputs.on_draw(recorder.traced.draws)
    _watch_coordinators(recorder)
    _watch_replicas(recorder)
    os.register_at_fork(after_in_child=recorder.switch_off)
    return recorder


def watch_models(recorder: Recorder, trainer: type, applies: Sequence[tuple[type, str]]) -> None:
    for name in WATCHED_METHODS:
        setattr(trainer, name, _method(recorder, name, getattr(trainer, name)))
    trainer_fit: Any = trainer
    trainer_fit.fit = _fit(recorder, trainer_fit.fit)
    for owner, name in applies:
        setattr(owner, name, _apply(recorder, getattr(owner, name)))


def _watch_coordinators(recorder: Recorder) -> None:
    owner = tf.distribute.coordinator.ClusterCoordinator
    SCHEDULE.watch(owner.join, recorder.fetched)
    closures = Closures(SCHEDULE)
    construct, schedule, done = owner.__init__, owner.schedule, owner.done

    @functools.wraps(construct)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        # Threads that send closures begin in it.
        recorder.coordinates(closures)
        construct(self, *args, **kwargs)
        SCHEDULE.add(self)

    @functools.wraps(schedule)
    def scheduled(self: Any, fn: Any, args: Any = None, kwargs: Any = None) -> Any:
        original = functools.partial(schedule, self, fn, args, kwargs)
        if not private.is_function(fn):
            return original()  # which tells what is wrong
        send = functools.partial(SCHEDULE.send, original, lambda: bool(done(self)))
        run = functools.partial(SCHEDULE.wait, send)
        call = ClosureCall(fn, run, tuple(args or ()), dict(kwargs or {}), closures)
        return _led(recorder, call)

    owner.__init__, owner.schedule = __init__, scheduled
    for name in ("join", "done"):
        setattr(owner, name, _waiting(recorder, getattr(owner, name)))


def _watch_replicas(recorder: Recorder) -> None:
    original = tf.distribute.Strategy.run

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return recorder.eager.replicates(functools.partial(original, self, *args, **kwargs))

    tf.distribute.Strategy.run = run


def _waiting(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any) -> Any:
        run = functools.partial(SCHEDULE.ask, functools.partial(original, self))
        call = CoordinatorCall(self, run, (), {}, original.__name__)
        return recorder.call(call) if recorder.listens() else run()

    return method


def _watch_readers() -> None:
    private.on_checkpoint_read(EARLIER.note)
    original = h5py.File.__init__

    @functools.wraps(original)
    def __init__(self: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
        if mode in ("r", "r+", "a") and isinstance(name, str | os.PathLike):
            EARLIER.note(str(name), is_only_read=mode == "r")
        original(self, name, mode, *args, **kwargs)

    h5py.File.__init__ = __init__
    gfile = tf.io.gfile
    for owner, name, paths_of in (
        (gfile, "exists", _named),
        (gfile, "stat", _named),
        (gfile, "listdir", lambda folder, names: [f"{folder}/{each}" for each in names]),
        (gfile, "glob", lambda _, paths: paths),
        (gfile.GFile, "__init__", lambda file, _: [file.name] if file.mode[0] in "ra" else []),
        (tf.io, "read_file", _named),
    ):
        setattr(owner, name, EARLIER.looks.watching(getattr(owner, name), paths_of))


def _named(path: Any, _: Any) -> list[Any]:
    known = path if isinstance(path, str | bytes | os.PathLike) else tf.get_static_value(path)
    return [] if known is None else [known]


def _led(recorder: Recorder, call: Call) -> Any:
    return recorder.call(call) if recorder.listens() else recorder.elsewhere(call)


def _function_call(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = functools.partial(original, self, *args, **kwargs)
        if private.runs_eagerly(self) or not tf.executing_eagerly():
            return run()
        return _led(recorder, FunctionCall(self, run, args, kwargs))

    return __call__


def _method(recorder: Recorder, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = functools.partial(original, self, *args, **kwargs)
        return _led(recorder, MethodCall(self, run, args, kwargs, name))

    return method


def _fit(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.listens():
            return original(self, *args, **kwargs)
        return recorder.aside(functools.partial(original, self, *args, **kwargs))

    return fit


def _apply(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    applies_gradients = observing(spoils=True)(recorder.eager.applies_gradients)

    @functools.wraps(original)
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        with recorder.unheard():
            result = original(self, *args, **kwargs)
        applies_gradients()
        return result

    return apply
