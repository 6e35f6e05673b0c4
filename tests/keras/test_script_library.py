"""Which objects of TensorFlow are saved by other means than the script's state."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from pitstop.keras.script_library import KerasLibrary


def test_the_contexts_of_summary_writers_are_no_state_of_the_script(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    library = KerasLibrary()
    for value in (writer, writer.as_default(), tf.summary.record_if(True)):
        assert library.is_elsewhere(type(value))
    assert not library.is_elsewhere(dict)
