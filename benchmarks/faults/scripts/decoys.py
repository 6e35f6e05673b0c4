"""What a healthy script prints that a careless reader takes for the cause of its end."""

import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np

_RENDEZVOUS = (
    "2026-01-05 10:00:01.100000: I tensorflow/core/framework/local_rendezvous.cc:405] "
    "Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence\n"
    "\t [[{{node IteratorGetNext}}]]"
)
_CUDNN = (
    "2026-01-05 10:00:00.100000: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] "
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one "
    "has already been registered"
)
_ALLOCATOR = (
    "2026-01-05 10:00:02.100000: W tensorflow/core/common_runtime/bfc_allocator.cc:296] Allocator "
    "(GPU_0_bfc) ran out of memory trying to allocate 560.44MiB with freed_by_count=0. The caller "
    "indicates that this is not a failure, but this may mean that there could be performance gains "
    "if more memory were available."
)


def caught_memory_error():
    """An allocation that is too large, tried, caught, printed, and done without."""
    try:
        np.ones((1 << 60,), np.uint8)
    except MemoryError:
        traceback.print_exc()
        print("not enough memory for the large cache, going on without", file=sys.stderr)


def caught_disk_full():
    """A write to a device that is always full, caught and printed."""
    try:
        with Path("/dev/full").open("w") as file:
            file.write("x")
    except OSError:
        traceback.print_exc()


def killed_in_text():
    """The words of a shell, as the name of a class in a report."""
    print("class counts: Alive 503, Killed 97, Missing 40")
    print("Killed", flush=True)


def crashing_helper():
    """A program of its own that crashes, which the script can do without."""
    code = "import ctypes; ctypes.string_at(0)"
    ended = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], check=False)
    print(f"helper ended with {ended.returncode}, going on without", flush=True)


def benign_lines():
    """What TensorFlow of several versions prints although all is well."""
    print("\n".join([_CUDNN, _RENDEZVOUS, _ALLOCATOR]), file=sys.stderr, flush=True)


def nan_in_text():
    """A metric of something else that is no number, printed."""
    print("correlation of row 3: nan (constant)", flush=True)
    print("baseline model: loss: nan - accuracy: 0.1", flush=True)


def early_stopping_in_text():
    """What a notebook said about another model."""
    print("Epoch 2: early stopping", flush=True)


DECOYS = {
    "memory": caught_memory_error,
    "disk": caught_disk_full,
    "killed": killed_in_text,
    "helper": crashing_helper,
    "benign": benign_lines,
    "nan": nan_in_text,
    "early": early_stopping_in_text,
}


def show(names):
    """Prints the decoys of these names."""
    for name in names:
        DECOYS[name]()
