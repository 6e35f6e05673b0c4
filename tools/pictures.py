"""Takes the pictures of docs/ anew: the live page of a training, and a stopped cell of JupyterLab.

    .compat/notebooks/bin/python tools/pictures.py

`make test-notebooks` makes that interpreter.  Needs Chromium.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.integration.jupyterlab import Lab  # noqa: E402
from tests.report.page.browser import Browser  # noqa: E402

_PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
_TRAINING = (sys.executable, str(ROOT / "examples" / "digits_cnn.py"), "--epochs", "60")
_WATCHED_SECONDS = 20
_DATA = """
import keras, numpy as np

keras.utils.set_random_seed(7)
images = np.random.rand(3000, 8, 8, 1)
labels = images.mean((1, 2, 3)) > 0.5
"""
_MODEL = """
layers = keras.layers
model = keras.Sequential([
    layers.Conv2D(48, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
    layers.Dropout(0.5), layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy")
"""
_CELLS = (
    "%load_ext pitstop",
    _DATA.strip(),
    _MODEL.strip(),
    "history = model.fit(images, labels, epochs=300, verbose=2)",
    "%pitstop status",
)
_FIT = 3


def picture_of_the_page(folder: Path) -> bytes:
    run = subprocess.Popen(
        [*_PITSTOP, "run", "--no-status-line", "--run-dir", "runs/digits", "--", *_TRAINING],
        cwd=folder,
    )
    time.sleep(_WATCHED_SECONDS)
    watch = [*_PITSTOP, "watch", "runs/digits", "--http"]
    with (
        subprocess.Popen(watch, cwd=folder, stdout=subprocess.PIPE, text=True) as page,
        closing(Browser(folder / "profile")) as browser,
    ):
        assert page.stdout is not None
        browser.open(page.stdout.readline().strip(), 1280, 1000)
        time.sleep(5)
        picture = browser.picture(whole=True)
        page.terminate()
    run.terminate()
    run.wait()
    return base64.b64decode(picture)


def picture_of_a_cell(folder: Path) -> bytes:
    with closing(Lab(folder, _CELLS, height=760)) as lab:
        lab.run_all()
        lab.until_shown(_FIT, "Epoch 4/")
        lab.press("notebook:interrupt-kernel")
        lab.until_shown(_FIT, "Details: `%pitstop why`.")
        return lab.picture()


def main() -> None:
    # Without messages about what TensorFlow could do faster.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    for name, taken in (("watch", picture_of_the_page), ("notebook", picture_of_a_cell)):
        with tempfile.TemporaryDirectory() as folder:
            (ROOT / "docs" / f"{name}.png").write_bytes(taken(Path(folder)))


if __name__ == "__main__":
    main()
