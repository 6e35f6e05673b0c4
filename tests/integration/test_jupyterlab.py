"""JupyterLab in a real browser: its buttons, a kernel that dies, and what the cells show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.link.settings import ENV_ENTROPY
from tests.integration.jupyterlab import Lab
from tests.integration.kernel import PLAN, SETUP, Kernel
from tests.integration.supervisor.launch import until
from tests.integration.test_notebooks import FIT, LOAD, MODEL, OUTCOME, RESUMED, SEEDED
from tests.report.page.browser import COMMAND

_WAITS = """
class Waits(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == 17 and not os.path.exists("go"):
            open("reached", "w").close()
            while not os.path.exists("go"):
                pass
"""
_CELLS = [
    LOAD,
    SETUP + _WAITS,
    SEEDED,
    MODEL,
    FIT.replace("[Ends()]", "[Ends(), Waits()]"),
    f"print('END', {OUTCOME})",
    "%pitstop why",
]
_FIT, _END, _WHY = 4, 5, 6

pytestmark = [
    pytest.mark.skipif(COMMAND is None, reason="no browser"),
    pytest.mark.xdist_group("kernels"),
]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setenv(ENV_ENTROPY, "5eed")
    with closing(Lab(tmp_path, _CELLS)) as opened:
        yield opened


def test_the_button_stops_a_cell_and_a_dead_kernel_goes_on(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with Kernel(tmp_path / "plain") as kernel:
        assert kernel.run_all([SETUP, SEEDED, MODEL, FIT]).status == "ok"
        plain = kernel.value(OUTCOME)
    lab.run_all()
    until((tmp_path / "reached").exists)
    lab.press("notebook:interrupt-kernel")
    lab.until_shown(_FIT, "stopping")
    (tmp_path / "go").touch()
    stopped = lab.until_shown(_FIT, "Details: `%pitstop why`.")
    assert "Stopped after step 17 " in stopped
    assert "Traceback" not in stopped
    # The same cell goes on, until its kernel dies of another cause.
    (tmp_path / PLAN).write_text("SIGKILL 21 fit")
    lab.run(_FIT)
    lab.until_shown(_FIT, f"{RESUMED} 17")
    lab.accept()
    lab.run_all()
    assert "not exact" not in lab.until_shown(_FIT, RESUMED)
    assert lab.until_shown(_END, "END ").strip() == f"END {plain}"
    lab.until_page(_WHY)
