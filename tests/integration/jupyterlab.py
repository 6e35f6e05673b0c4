"""JupyterLab with one notebook, in a real browser that presses its buttons."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.supervisor import launch
from tests.report.page.browser import Browser

_NOTEBOOK = "window.jupyterapp.shell.currentWidget"
_KERNEL = f"{_NOTEBOOK}.sessionContext.session?.kernel"
_IS_READY = f"{_KERNEL}?.status === 'idle' && {_KERNEL}.connectionStatus === 'connected'"
_ACCEPT = ".jp-Dialog button.jp-mod-accept"
_SETTINGS = (
    ".jupyter/lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
)


class Lab:
    """A server of JupyterLab, and a browser that shows one notebook of it."""

    def __init__(self, folder: Path, cells: Sequence[str], height: int = 3000) -> None:
        nbformat = pytest.importorskip("nbformat")
        pytest.importorskip("jupyterlab")
        code = [nbformat.v4.new_code_cell(cell) for cell in cells]
        notebook = nbformat.v4.new_notebook(cells=code)
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, folder / "digits.ipynb")
        settings = folder / _SETTINGS
        settings.parent.mkdir(parents=True)
        settings.write_text('{"fetchNews": "false"}')
        options = ("--no-browser", "--allow-root", "--expose-app-in-browser", "--port=0")
        self._server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={folder}"],
            cwd=folder,
            env={**launch.environment(), "HOME": os.fspath(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            place = self._place(folder / ".local" / "share" / "jupyter" / "runtime")
            self._browser = Browser(folder / "profile")
            self._browser.open(place, 1200, height)
            self._until(_IS_READY)
        except BaseException:
            self._server.kill()
            raise

    def close(self) -> None:
        self._browser.close()
        self._server.terminate()
        self._server.wait()

    def _place(self, runtime: Path) -> str:
        """The notebook's address, from the file that the server leaves when it listens."""
        told = launch.until(lambda: list(runtime.glob("jpserver-*.json")))
        server: dict[str, Any] = json.loads(told[0].read_text())
        return f"{server['url']}lab/tree/digits.ipynb?token={server['token']}"

    def press(self, command: str) -> None:
        """Presses a button of the notebook's toolbar."""
        self._press(f"[data-command='{command}']")

    def run_all(self) -> None:
        self._browser.value("window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def run(self, cell: int) -> None:
        """Runs one cell by the button."""
        self._browser.value(f"{_NOTEBOOK}.content.activeCellIndex = {cell}")
        self.press("notebook:run-cell-and-select-next")

    def until_shown(self, cell: int, text: str) -> str:
        """Waits until a cell shows a text; gives all that it shows."""
        self._until(f"({self._shown(cell)}).includes({json.dumps(text)})")
        return str(self._browser.value(self._shown(cell)))

    def until_page(self, cell: int) -> None:
        """Waits until a cell shows a page of its own."""
        self._until(f"{self._outputs(cell)}.querySelector('iframe') !== null")

    def picture(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self._browser.picture(whole=False))

    def accept(self) -> None:
        """Waits for a dialog, and presses its first button."""
        self._until(f'document.querySelector("{_ACCEPT}") !== null')
        self._press(_ACCEPT)
        self._until(f"['starting', 'idle'].includes({_KERNEL}?.status)")

    def _press(self, selector: str) -> None:
        box = f'document.querySelector("{selector}").getBoundingClientRect()'
        where = f"(box => [box.x + box.width / 2, box.y + box.height / 2])({box})"
        self._browser.press(*self._browser.value(where))

    def _until(self, expression: str) -> None:
        launch.until(lambda: self._browser.value(expression) is True)

    @staticmethod
    def _outputs(cell: int) -> str:
        return f"{_NOTEBOOK}.content.widgets[{cell}].node.querySelector('.jp-OutputArea')"

    def _shown(self, cell: int) -> str:
        return f"{self._outputs(cell)}.innerText"
