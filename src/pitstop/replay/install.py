"""Puts the recorder into TensorFlow and Keras: one thin function per hook point."""

import functools
import os
from collections.abc import Sequence
from typing import Any

import h5py
import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.rewritten_files import REWRITTEN
from pitstop.engine.hooking import Original, hook
from pitstop.replay.calls import METHODS, Call, FunctionCall, MethodCall
from pitstop.replay.closures import ClosureCall, Closures
from pitstop.replay.recorder import OpenSession, Recorder
from pitstop.tensorflow import counted_draws, private, variable_use
from pitstop.tensorflow.event_files import SUMMARY_WRITERS
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.schedule import SCHEDULE
from pitstop.tensorflow.traced_ops import OpKind
from pitstop.tensorflow.variables.variables import VariableRegistry


def watch_functions(registry: VariableRegistry, open_session: OpenSession) -> Recorder:
    recorder = Recorder(open_session, registry)
    counted_draws.watch()
    private.around_function_calls(functools.partial(_call_function, recorder))
    variable_use.around_read(recorder.reads, recorder.has_read)
    variable_use.before_read_by_op(recorder.reads)
    variable_use.before_reduction(recorder.reads)
    variable_use.after_write(recorder.eager.wrote)
    variable_use.after_gradient(recorder.eager.took_gradients)
    private.around_checkpoint_writes(recorder.writes)
    private.on_checkpoint_sought(recorder.asks_for_checkpoint, recorder.looks_for_checkpoint)
    _watch_readers()
    SUMMARY_WRITERS.watch()
    private.on_traced_op(
        {
            OpKind.RANDOM: recorder.traced.random_op,
            OpKind.STATE: recorder.traced.state_op,
            OpKind.INPUT: recorder.traced.input_op,
        }
    )
    drawn_inputs.on_draw(recorder.traced.draws, recorder.reads_input)
    _watch_coordinators(recorder)
    hook(tf.distribute.Strategy, "run", functools.partial(_run_replicas, recorder))
    os.register_at_fork(after_in_child=recorder.switch_off)
    return recorder


def watch_models(recorder: Recorder, trainer: type, applies: Sequence[tuple[type, str]]) -> None:
    for name in METHODS:
        hook(trainer, name, functools.partial(_call_method, recorder, name))
    hook(trainer, "fit", functools.partial(_fit, recorder))
    for owner, name in applies:
        hook(owner, name, functools.partial(_apply, recorder))


def _watch_coordinators(recorder: Recorder) -> None:
    owner = tf.distribute.coordinator.ClusterCoordinator
    SCHEDULE.watch(owner.join, recorder.fetched)
    closures, done = Closures(SCHEDULE), owner.done

    def construct(original: Original, coordinator: Any, /, *args: Any, **kwargs: Any) -> None:
        # Threads that send closures begin in it.
        recorder.coordinates(closures)
        original(coordinator, *args, **kwargs)
        SCHEDULE.add(coordinator)

    def schedule(
        original: Original, coordinator: Any, fn: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        send = functools.partial(original, coordinator, fn, args, kwargs)
        if not private.is_function(fn):
            return send()  # which tells what is wrong
        send = functools.partial(SCHEDULE.send, send, lambda: bool(done(coordinator)))
        run = functools.partial(SCHEDULE.wait, send)
        call = ClosureCall(fn, run, tuple(args or ()), dict(kwargs or {}), closures=closures)
        return _led(recorder, call)

    hook(owner, "__init__", construct)
    hook(owner, "schedule", schedule)
    for name in ("join", "done"):
        hook(owner, name, functools.partial(_wait, recorder, name))


def _run_replicas(
    recorder: Recorder, original: Original, strategy: Any, /, *args: Any, **kwargs: Any
) -> Any:
    return recorder.eager.replicates(functools.partial(original, strategy, *args, **kwargs))


def _wait(recorder: Recorder, name: str, original: Original, coordinator: Any) -> Any:
    run = functools.partial(SCHEDULE.ask, functools.partial(original, coordinator))
    call = Call(coordinator, run, (), {}, name)
    return recorder.call(call) if recorder.listens() else run()


def _watch_readers() -> None:
    private.on_checkpoint_read(observing()(EARLIER.note))
    hook(h5py.File, "__init__", _open_h5)
    gfile = tf.io.gfile
    for name in ("remove", "rmtree"):
        hook(gfile, name, _remove)
    for owner, name, paths_of in (
        (gfile, "exists", _named),
        (gfile, "stat", _named),
        (gfile, "listdir", lambda folder, names: [f"{folder}/{each}" for each in names]),
        (gfile, "glob", lambda _, paths: paths),
        (gfile.GFile, "__init__", lambda file, _: [file.name] if file.mode[0] in "ra" else []),
        (tf.io, "read_file", _named),
    ):
        setattr(owner, name, EARLIER.looks.watching(getattr(owner, name), paths_of))


@observing()
def _note_removal(path: Any) -> None:
    if isinstance(path, str | bytes | os.PathLike):
        EARLIER.removes(path)


def _remove(original: Original, path: Any) -> None:
    _note_removal(path)
    original(path)


@observing()
def _note_h5(name: Any, mode: str) -> None:
    if mode in ("r", "r+", "a") and isinstance(name, str | os.PathLike):
        EARLIER.note(str(name), is_only_read=mode == "r")
    elif mode == "w" and isinstance(name, str | os.PathLike):
        EARLIER.note_begun_anew(str(name))
        REWRITTEN.note_weights(str(name))


def _open_h5(
    original: Original, file: Any, /, name: Any, mode: str = "r", *args: Any, **kwargs: Any
) -> None:
    _note_h5(name, mode)
    original(file, name, mode, *args, **kwargs)


def _named(path: Any, _: Any) -> list[Any]:
    known = path if isinstance(path, str | bytes | os.PathLike) else tf.get_static_value(path)
    return [] if known is None else [known]


def _led(recorder: Recorder, call: Call) -> Any:
    return recorder.call(call) if recorder.listens() else recorder.elsewhere(call)


def _call_function(
    recorder: Recorder, original: Original, function: Any, /, *args: Any, **kwargs: Any
) -> Any:
    if recorder.is_aside() or private.runs_eagerly(function) or not tf.executing_eagerly():
        return original(function, *args, **kwargs)
    run = functools.partial(original, function, *args, **kwargs)
    return _led(recorder, FunctionCall(function, run, args, kwargs))


def _call_method(
    recorder: Recorder, name: str, original: Original, model: Any, /, *args: Any, **kwargs: Any
) -> Any:
    run = functools.partial(original, model, *args, **kwargs)
    return _led(recorder, MethodCall(model, run, args, kwargs, name))


def _fit(recorder: Recorder, original: Original, model: Any, /, *args: Any, **kwargs: Any) -> Any:
    run = functools.partial(original, model, *args, **kwargs)
    return recorder.aside(run) if recorder.listens() else run()


def _apply(
    recorder: Recorder, original: Original, optimizer: Any, /, *args: Any, **kwargs: Any
) -> Any:
    with recorder.unheard():
        result = original(optimizer, *args, **kwargs)
    recorder.eager.applies_gradients()
    return result
