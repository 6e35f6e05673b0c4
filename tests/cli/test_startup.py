"""Starting the command line stays light: no threads, no frameworks, no NumPy, and little else."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "tensorflow", "keras", "h5py", "asyncio", "ssl", "http", "email")


def _loaded(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules, sep='\\n')"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(shown.stdout.split())


def test_a_command_loads_nothing_heavy_and_no_report_before_it_needs_one() -> None:
    # NumPy starts a pool of threads that block no signals; the supervisor, which
    # waits for signals in a thread of its own, is better off without them.
    loaded = _loaded("import pitstop.cli.run")
    assert loaded.isdisjoint(HEAVY)
    packages = {name.split(".")[1] for name in loaded if name.startswith("pitstop.")}
    assert packages.isdisjoint({"diagnosis", "report", "comparison", "export", "drill", "doctor"})
    assert "rich" not in loaded
    assert len(loaded) < 420


@pytest.mark.parametrize("words", [("--version",), ("stop", "--help")])
def test_only_the_command_that_is_called_is_loaded(words: tuple[str, ...]) -> None:
    bare, click = _loaded(""), _loaded("import click")
    call = f"import pitstop.cli.main as m\ntry: m.main({words!r})\nexcept SystemExit: pass"
    loaded = _loaded(call) - click - bare
    assert "pitstop.cli.run" not in loaded
    if words == ("--version",):
        assert len(loaded) < 60
