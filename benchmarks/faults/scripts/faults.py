"""What a script can do to itself: each really happens, at the place that was asked for.

Where `FAULT_SURVIVED` is set, the script has a way out: it catches the exception and goes on.
"""

import ctypes
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
from place import is_here, wait_for_strike

_MIB = 1 << 20
_kept = []


def leak_to(mebibytes):
    """Keeps so much more memory, in pieces that are touched."""
    while len(_kept) * 16 < mebibytes:
        _kept.append(np.ones(16 * _MIB, np.uint8))


def leak():
    """Grows until somebody stops it; the bound spares a machine without a limit."""
    leak_to(4096)


def leak_somewhat():
    """Grows to less than its limit."""
    leak_to(int(os.environ["FAULT_MEBIBYTES"]))


def leak_and_wait():
    """Grows to most of its limit, and is there when it is struck."""
    leak_somewhat()
    wait_for_strike()


def burn():
    """Computes for ever: a limit on processor time ends it."""
    while True:
        np.random.default_rng(1).normal(size=1 << 18).sum()


def large_array():
    """More than the address space that is left."""
    np.ones(64 << 30, np.uint8)


def large_tensor():
    """A shape with a factor too many."""
    import tensorflow as tf

    tf.ones((1 << 22, 1 << 20)) + 1.0


def many_threads():
    """A thread for each small thing, none of which ends."""
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def many_native_threads():
    """Thread pools of TensorFlow itself, until the address space is used up."""
    import tensorflow as tf

    for _ in range(200):
        options = tf.data.Options()
        options.threading.private_threadpool_size = 32
        data = tf.data.Dataset.range(64).map(lambda x: x + 1, num_parallel_calls=32)
        iterator = iter(data.with_options(options))
        next(iterator)
        _kept.append(iterator)


def many_files():
    """More record files at once than may be open."""
    import tensorflow as tf

    for number in range(60):
        with tf.io.TFRecordWriter(f"part{number}.tfrecord") as writer:
            writer.write(b"x")
    now = sum(1 for _ in Path("/proc/self/fd").iterdir())
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (now + 20, hard))
    names = tf.data.Dataset.from_tensor_slices([f"part{number}.tfrecord" for number in range(60)])
    for _ in names.interleave(tf.data.TFRecordDataset, cycle_length=60, block_length=1):
        pass


def segfault():
    """Reads address 0, in native code."""
    ctypes.string_at(0)


def illegal_instruction():
    """Runs `ud2`, which no processor has."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x0f\x0b")
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def shared_memory():
    """Writes to shared memory for which the file system has no pages."""
    with Path("/dev/shm/batches").open("wb+") as file:
        file.truncate(64 * _MIB)
        area = mmap.mmap(file.fileno(), 0)
    for at in range(0, len(area), 4096):
        area[at] = 1


def truncated_file():
    """Reads a mapped file that somebody has cut short."""
    path = Path("rows.bin")
    path.write_bytes(bytes(4 * _MIB))
    rows = np.memmap(path, np.uint8, "r")
    os.truncate(path, 4096)
    rows.sum()


def abort():
    """Gives up as a library does that finds its state broken."""
    os.abort()


def native_abort():
    """The same, in native code, which nobody in Python sees."""
    ctypes.CDLL(None).abort()


def raise_key_error():
    """A name that is not there."""
    {"loss": 1.0}["accuracy"]


def exit_with(code):
    """Leaves by `sys.exit`."""
    sys.exit(code)


def deadlock():
    """Takes a lock twice."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def hold_interpreter():
    """Native code that keeps the interpreter's lock and does not return."""
    libc = ctypes.PyDLL(None)
    while True:
        libc.usleep(500_000)


def broken_pipe():
    """Writes to a program that has ended."""
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    while True:
        reader.stdin.write(b"x" * 65536)
        reader.stdin.flush()


def download():
    """Weights from a server that cannot be found."""
    import keras

    keras.utils.get_file("weights.h5", "http://weights.invalid/weights.h5", cache_dir="cache")


def missing_package():
    """An import of what nobody installed."""
    import a_package_that_nobody_installed  # noqa: F401


def pickle_for_spawn():
    """A lambda for a process that is started anew."""
    import multiprocessing

    multiprocessing.get_context("spawn").Process(target=lambda: None).start()


def write_as_nobody():
    """Writes where another user may not."""
    Path("outcome").mkdir()
    os.seteuid(65534)
    Path("outcome/history.csv").write_text("loss\n")


def interrupt():
    """What a notebook's stop button does."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)


def busy():
    """Computes for a while: a large step, a long validation, a careful save."""
    until = time.monotonic() + 8
    while time.monotonic() < until:
        np.random.default_rng(1).normal(size=1 << 18).sum()


def wait_and_raise():
    """Goes on after what happened beside it, and fails for a reason of its own."""
    wait_for_strike()
    raise_key_error()


FAULTS = {
    "wait": wait_for_strike,
    "leak": leak,
    "leak_somewhat": leak_somewhat,
    "leak_and_wait": leak_and_wait,
    "burn": burn,
    "large_array": large_array,
    "large_tensor": large_tensor,
    "threads": many_threads,
    "native_threads": many_native_threads,
    "files": many_files,
    "segfault": segfault,
    "illegal": illegal_instruction,
    "shm": shared_memory,
    "truncated": truncated_file,
    "abort": abort,
    "native_abort": native_abort,
    "key_error": raise_key_error,
    "exit0": lambda: exit_with(0),
    "exit3": lambda: exit_with(3),
    "os_exit0": lambda: os._exit(0),
    "deadlock": deadlock,
    "interpreter": hold_interpreter,
    "pipe": broken_pipe,
    "download": download,
    "import": missing_package,
    "pickle": pickle_for_spawn,
    "denied": write_as_nobody,
    "interrupt": interrupt,
    "busy": busy,
    "wait_and_raise": wait_and_raise,
}


def reach(place):
    """Does what `FAULT` names, if this is the place."""
    if not is_here(place):
        return
    try:
        FAULTS[os.environ["FAULT"]]()
    except Exception:
        if "FAULT_SURVIVED" not in os.environ:
            raise
        traceback.print_exc()
        print("going on without", flush=True)
