"""What the program was doing, by the frames of its traceback."""

from __future__ import annotations

import pytest

from pitstop.diagnosis.exception import Frame, from_title
from pitstop.diagnosis.signatures.tables import classify, places_of

LIBRARY = "/venv/lib/python3.11/site-packages"
MAIN = Frame("/app/train.py", 3, "main", "main()")

CASES: list[tuple[str, tuple[Frame, ...], str]] = [
    ("by function", (MAIN, Frame("/app/io.py", 9, "load_state_dict")), "restoring"),
    ("by the user's call", (Frame("/app/train.py", 9, "main", "m.load_weights(f)"),), "restoring"),
    (
        "deep in a library",
        (
            Frame("/app/train.py", 9, "main", "keras.models.load_model(f)"),
            Frame(f"{LIBRARY}/keras/src/saving/saving_lib.py", 3, "deserialize"),
        ),
        "restoring_inside",
    ),
    (
        "in an import",
        (
            Frame("/app/train.py", 1, "<module>", "import tensorflow as tf"),
            Frame(f"{LIBRARY}/tensorflow/__init__.py", 3, "<module>"),
        ),
        "importing",
    ),
    (
        "in an import of a module of one's own",
        (
            Frame("/app/train.py", 1, "<module>", "from net import build"),
            Frame("/app/net.py", 1, "<module>", "from keras.layers import Input"),
            Frame(f"{LIBRARY}/google/protobuf/descriptor.py", 3, "__new__"),
        ),
        "importing",
    ),
    ("reading", (MAIN, Frame(f"{LIBRARY}/torch/utils/data/dataloader.py", 3, "f")), "input"),
    ("downloading", (MAIN, Frame("/usr/lib/python3.11/urllib/request.py", 3, "do")), "download"),
    (
        "talking to a process",
        (MAIN, Frame("/usr/lib/python3.11/multiprocessing/connection.py", 3, "recv")),
        "processes",
    ),
]


@pytest.mark.parametrize(
    ("frames", "place"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_place(frames: tuple[Frame, ...], place: str) -> None:
    assert place in places_of(from_title("ValueError", "", frames))


def test_a_line_that_imports_inside_one_file_is_that_of_another_version_of_it() -> None:
    """Python shows the line of the file as it is now, not of the one that runs."""
    keras = f"{LIBRARY}/keras/engine/training.py"
    frames = (
        MAIN,
        Frame(keras, 456, "evaluate", "import typing"),
        Frame(keras, 444, "_model_iteration", "total_epochs=1)"),
        Frame(f"{LIBRARY}/tensorflow/eager/execute.py", 67, "quick_execute"),
    )
    assert "importing" not in places_of(from_title("NotFoundError", "", frames))


def test_a_wrong_argument_is_of_the_file_only_where_a_model_is_built_from_one() -> None:
    keras = f"{LIBRARY}/keras/src"
    saved = (
        Frame("/app/train.py", 9, "main", "keras.models.load_model(f)"),
        Frame(f"{keras}/ops/operation.py", 3, "from_config", "return cls(**config)"),
    )
    built = (Frame("/app/train.py", 9, "main", "Dense(9, size=3)"),)
    inside = Frame(f"{keras}/layers/layer.py", 3, "__init__", "raise ValueError(")
    said = "Unrecognized keyword arguments passed to Dense: {'size': 3}"
    found = [classify(from_title("ValueError", said, (*at, inside))) for at in (saved, built)]
    assert [each.cause if each else None for each in found] == [
        "checkpoint_corrupt_or_mismatch",
        None,
    ]


def test_a_function_that_was_loaded_and_is_called_is_not_loaded_then() -> None:
    loaded = f"{LIBRARY}/tensorflow/python/saved_model"
    frames = (
        Frame("/app/train.py", 42, "<module>", "outputs = model(x)"),
        Frame(f"{loaded}/load.py", 438, "_call_attribute", "return instance.__call__(*args)"),
        Frame(f"{loaded}/function_deserialization.py", 241, "restored_function_body"),
        Frame(f"{loaded}/function_deserialization.py", 72, "_call_concrete_function"),
    )
    assert not places_of(from_title("ValueError", "", frames)) & {"restoring", "restoring_inside"}


def test_an_own_module_that_fails_while_it_is_imported_is_no_package() -> None:
    frames = (
        Frame("/app/train.py", 1, "<module>", "import model"),
        Frame("/app/model.py", 3, "<module>", "1 / 0"),
    )
    assert "importing" not in places_of(from_title("ZeroDivisionError", "", frames))


def test_an_own_function_that_restores_is_not_deep_in_a_library() -> None:
    frames = (MAIN, Frame("/app/io.py", 9, "restore_best", "best[0]"))
    assert "restoring_inside" not in places_of(from_title("IndexError", "", frames))


def test_a_model_that_cannot_be_saved_is_no_damaged_one() -> None:
    message = "[Errno 36] File name too long: '/runs/a.keras'"
    library = f"{LIBRARY}/keras/src/saving/saving_lib.py"
    saving = (MAIN, Frame(library, 144, "save_model", 'with open(filepath, "wb") as f:'))
    assert classify(from_title("OSError", message, saving)) is None
    loading = (MAIN, Frame(library, 9, "load_model", 'with open(filepath, "rb") as f:'))
    found = classify(from_title("OSError", message, loading))
    assert found
    assert found.cause == "checkpoint_corrupt_or_mismatch"
