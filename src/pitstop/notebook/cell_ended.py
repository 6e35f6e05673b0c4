"""How a cell ends whose training was stopped: with a few words, and without a traceback."""

from __future__ import annotations


class CellEnded(KeyboardInterrupt):
    """Ends the cell; the kernel goes on, and cells that wait behind it are not run.

    `except Exception` in the cell lets it through.
    """

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in the place of a traceback."""
        return [str(self)]
