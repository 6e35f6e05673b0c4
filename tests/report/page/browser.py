"""A real browser, driven over its debugging pipe.

Source of the messages: the Chrome DevTools Protocol; one JSON object each, ended by a zero
byte, on the descriptors 3 (to the browser) and 4 (from it).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

COMMAND = shutil.which("chromium") or shutil.which("google-chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--hide-scrollbars",
)


class Browser:
    """One page of a browser without a window."""

    def __init__(self, profile: Path) -> None:
        self._numbers = itertools.count(1)
        its_in, self._to = os.pipe()
        self._from, its_out = os.pipe()
        # A shell puts the two where the browser looks for them.
        shell = f'exec "$0" "$@" 3<&{its_in} 4>&{its_out}'
        command = ["bash", "-c", shell, str(COMMAND), *_OPTIONS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            command,
            pass_fds=(its_in, its_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_in)
        os.close(its_out)
        self._answers = os.fdopen(self._from, "rb")
        self._session = ""
        self.told: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def close(self) -> None:
        """Ends it."""
        os.close(self._to)
        self._answers.close()
        self._process.kill()
        self._process.wait()

    def open(self, place: Path | str, width: int, height: int = 900, scheme: str = "light") -> None:
        """Shows a file or a URL in a window of a size, to who likes light or dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self._ask("Emulation.setDeviceMetricsOverride", mobile=width < 500, **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._ask("Emulation.setEmulatedMedia", features=[feature])
        url = place if isinstance(place, str) else place.as_uri()
        self._ask("Page.navigate", url=url)
        self._until("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def move_to(self, x: float, y: float) -> None:
        """Puts the pointer somewhere."""
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, x: float, y: float) -> None:
        """Presses the left button of the pointer somewhere."""
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, *, whole: bool) -> str:
        """A picture of the window, or of the whole page, as PNG in base64."""
        return str(self._ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pages_on_paper(self) -> str:
        """The page as PDF in base64."""
        return str(self._ask("Page.printToPDF", printBackground=True)["data"])

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self.told.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _until(self, method: str) -> None:
        while (told := self._next()).get("method") != method:
            self.told.append(told)

    def _next(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) not in (b"\0", b""):
            data += byte
        message: dict[str, Any] = json.loads(data)
        return message
