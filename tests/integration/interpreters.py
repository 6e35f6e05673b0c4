"""Starts forking interpreters, and makes what is called in the place of `python` and `pitstop`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.supervisor import launch

HERE = Path(__file__).parent
HASH_SEED = "0"
"""One for all programs: a fork cannot have another one than its parent."""
_PATH = HERE / "forking_interpreter.py"
# Its own frames are no part of the script that a fork runs.
_SERVER = f"exec(compile(open({os.fspath(_PATH)!r}).read(), '<forking interpreter>', 'exec'))"


_ADAPTERS = ("pitstop.keras.instrumentation", "pitstop.replay.install")
"""They only define something; a script that is not watched does not see them."""


@contextmanager
def forking(*modules: str, **variables: str) -> Iterator[str]:
    """A `python` whose scripts find these modules imported, as long as it is needed.

    Args:
        modules: their names.
        variables: of the environment, for modules that read them as they are imported.
    """
    with tempfile.TemporaryDirectory(prefix="forks-") as name:
        folder = Path(name)
        socket = folder / "socket"
        words = (sys.executable, "-c", _SERVER, str(socket), *modules, *_ADAPTERS)
        environment = launch.environment(
            PYTHONHASHSEED=HASH_SEED, OPENBLAS_NUM_THREADS="1", **variables
        )
        with subprocess.Popen(words, env=environment) as server:
            launch.until(lambda: socket.exists() or server.poll() is not None)
            try:
                yield _client(folder)
            finally:
                server.terminate()


@contextmanager
def forking_kernel() -> Iterator[tuple[str, ...]]:
    """The words that start a kernel of Jupyter which finds the frameworks imported."""
    with forking("tensorflow", "keras", "ipykernel.kernelapp") as python:
        yield python, str(HERE / "kernel_fork.py")


def _client(folder: Path) -> str:
    python = folder / "python"
    python.write_text(f"#!{sys.executable} -IS\n{(HERE / 'forked_client.py').read_text()}")
    python.chmod(0o700)
    return os.fspath(python)
