"""What the program was doing, read from the functions that a traceback goes through."""

from __future__ import annotations

import re
from typing import Literal

from pitstop.diagnosis.exception import Frame, Raised, frames_in

Place = Literal[
    "restoring",
    "restoring_inside",
    "saving",
    "importing",
    "input",
    "download",
    "processes",
    "model",
    "shapes",
    "saving_in_fit",
    "producing",
]
"""Loading saved weights; deep in a library that loads them; saving; importing a package;
reading data; downloading; talking to processes of its own; computing; comparing shapes;
writing a file while a model is fitted, which callbacks do; functions of
the script that produce data, as libraries call them."""

_FUNCTIONS: tuple[tuple[Place, re.Pattern[str]], ...] = (
    (
        "restoring",
        re.compile(
            r"^(?!_peek)\w*[Rr]estore|^_?(?:load_(?:weights|model|state_dict|checkpoint|pretrained\w*|state)"
            r"|from_pre(?:trained|set)|resume\w*|read_checkpoint|init_from_checkpoint|load_ckpt)"
        ),
    ),
    (
        "saving",
        re.compile(
            r"^_?save(?:_|$|r$|txt|fig|z)|^write_checkpoint|^to_(?:csv|json|pickle|hdf|parquet)$"
        ),
    ),
    (
        "download",
        re.compile(r"^_?(?:download\w*|urlretrieve|urlopen|get_file|hf_hub_\w+)$"),
    ),
    ("producing", re.compile(r"^(?:generator_py_func|_?data_generator_task|_peek_and_restore)$")),
    ("shapes", re.compile(r"^(?:assert_(?:input|is)_compatib\w+|_?standardize_input_data)$")),
    ("input", re.compile(r"^(?:__getitem__|collate\w*|default_collate|_parse_\w+|decode_\w+)$")),
)
_FILES: tuple[tuple[Place, re.Pattern[str]], ...] = (
    ("restoring", re.compile(r"torch/serialization\.py|safetensors/|checkpoint/restore\.py")),
    (
        "input",
        re.compile(
            r"torch/utils/data/|tensorflow/python/data/|data_adapters?|/PIL/|/cv2/|pandas/io"
            r"|datasets/(?:builder|load|arrow)|numpy/lib/(?:_?npyio|format)|keras.*preprocessing"
            r"|image_utils|h5py/_hl/files"
        ),
    ),
    (
        "importing",
        re.compile(r"_pb2\.py|/(?:tensorflow(?:_core)?|keras|torch|jax|numpy)/__init__\."),
    ),
    ("download", re.compile(r"/(?:urllib\d?|requests|http|botocore|huggingface_hub)/")),
    ("processes", re.compile(r"multiprocessing/(?:connection|managers|reduction|resource_sharer)")),
    ("model", re.compile(r"keras/.*(?:layers|engine|models)/|torch/nn/modules/")),
)
_CALLS = re.compile(r"(\w+)\(")
_FITS = re.compile(r"\.fit(?:_generator)?\(")
_OPENS_TO_WRITE = re.compile(r"\bopen\([^;]*[\"'][wax][bt+]*[\"'][^;]*$")
_KERAS_FILES = re.compile(r"keras/.*utils/file_utils\.py")
_IMPORT = re.compile(r"^(?:import|from) [^;]*$")


def places_of(raised: Raised) -> frozenset[Place]:
    found = {place for frame in _frames(raised) for place in _places(frame)}
    if _is_importing(raised.frames):
        found.add("importing")
    fits = any(_FITS.search(frame.code) for frame in raised.frames if not frame.is_library)
    inner = raised.frames[-1] if raised.frames else None
    # Keras takes the frames of its callbacks out of tracebacks.
    if fits and inner and ("saving" in found or _KERAS_FILES.search(inner.posix_path)):
        found |= {"saving", "saving_in_fit"}
    if _is_restoring_inside(raised.frames):
        found.add("restoring_inside")
    return frozenset(found)


def _frames(raised: Raised) -> tuple[Frame, ...]:
    """Those of the traceback, and those that Keras and AutoGraph put into the message."""
    is_told = raised.message.startswith("in user code:")
    return (*raised.frames, *(frames_in(raised.message.splitlines()) if is_told else ()))


def _places(frame: Frame) -> list[Place]:
    # Keras takes its own frames out of tracebacks; the call of the user tells the same.
    functions = [frame.function.rpartition(".")[2], *_CALLS.findall(frame.code)]
    found = [place for place, pattern in _FUNCTIONS if any(map(pattern.match, functions))]
    found += [place for place, pattern in _FILES if pattern.search(frame.posix_path)]
    return [*found, "saving"] if _OPENS_TO_WRITE.search(frame.code) else found


def _is_restoring_inside(frames: tuple[Frame, ...]) -> bool:
    """The user's call to load something saved, and below it libraries only."""
    own = [i for i, frame in enumerate(frames) if not frame.is_library]
    below = frames[own[-1] + 1 :] if own else ()
    return bool(below) and "restoring" in {*_places(frames[own[-1]]), *_places(below[0])}


def _is_importing(frames: tuple[Frame, ...]) -> bool:
    """A package failed while it was loaded: all frames below the import are libraries'."""
    imports = [i for i, frame in enumerate(frames) if _IMPORT.match(frame.code)]
    below = frames[imports[0] + 1 :] if imports else ()
    return bool(below) and all(frame.is_library for frame in below)
