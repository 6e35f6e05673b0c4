"""A spare process imports, says so, and waits."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from pitstop.engine.randomness.entropy import CLAIMS_FILE
from pitstop.inject.warm_start import pause_share
from tests.inject.test_site import PACKAGE, SITE

_SCRIPT = "import sys; print(__name__, sys.argv[1:], 'numpy' in sys.modules)"


@contextmanager
def _spare(
    folder: Path, modules: list[list[str]]
) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    (folder / "imports.json").write_text(json.dumps(modules))
    ours, theirs = socket.socketpair()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SITE), str(PACKAGE.parent), str(folder)]),
        "PITSTOP_SOCKET": str(folder / "nobody"),
        "PITSTOP_ENTROPY": "5eed",
        "PITSTOP_STACKS": str(folder / "attempt" / "stacks.txt"),
        "PITSTOP_SPARE": f"{theirs.fileno()}:eager:{folder / 'imports.json'}",
    }
    words = [sys.executable, "-c", _SCRIPT, "word"]
    with ours, theirs:
        fds = [theirs.fileno()]
        process = subprocess.Popen(
            words, env=environment, pass_fds=fds, stdout=subprocess.PIPE, text=True, cwd=folder
        )
        theirs.close()
        with process:
            yield process, ours
            process.kill()


def test_it_gives_way_to_a_training_that_uses_all_processors() -> None:
    busy, free = (pause_share(idle, eager=False) for idle in (0.9, 1.1))
    assert busy >= 9 * free
    assert pause_share(0.0, eager=True) == free


def _numpy() -> list[str]:
    spec = find_spec("numpy")
    assert spec is not None
    assert spec.origin is not None
    return ["numpy", spec.origin]


def test_the_script_runs_when_it_is_needed(tmp_path: Path) -> None:
    with _spare(tmp_path, [_numpy()]) as (process, supervisor):
        assert supervisor.recv(1)
        # Its attempt begins only now.
        (tmp_path / "attempt").mkdir()
        supervisor.sendall(b".")
        assert process.communicate(timeout=60)[0] == "__main__ ['word'] True\n"
        assert process.returncode == 0
    assert (tmp_path / "attempt" / CLAIMS_FILE).read_bytes() == b"."


def test_it_ends_with_its_supervisor(tmp_path: Path) -> None:
    with _spare(tmp_path, [_numpy()]) as (process, supervisor):
        assert supervisor.recv(1)
        supervisor.close()
        assert process.communicate(timeout=60)[0] == ""
        assert process.returncode == 1


def test_it_ends_with_its_supervisor_while_it_imports(tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text("from pathlib import Path; Path('imported').touch()\n")
    modules = [_numpy(), ["later", str(tmp_path / "later.py")]]
    with _spare(tmp_path, modules) as (process, supervisor):
        supervisor.close()
        assert process.communicate(timeout=60)[0] == ""
        assert process.returncode == 1
    assert not (tmp_path / "imported").exists()


def test_a_module_of_another_place_is_left_alone(tmp_path: Path) -> None:
    with _spare(tmp_path, [["numpy", "elsewhere/numpy.py"]]) as (process, supervisor):
        assert supervisor.recv(1)
        supervisor.sendall(b".")
        assert process.communicate(timeout=60)[0] == "__main__ ['word'] False\n"


def test_one_that_cannot_import_a_module_begins_anew(tmp_path: Path) -> None:
    modules = [_numpy(), ["numpy.no_such_module", "x"]]
    with _spare(tmp_path, modules) as (process, supervisor):
        supervisor.sendall(b".")
        assert process.communicate(timeout=60)[0] == "__main__ ['word'] False\n"
        assert process.returncode == 0
        assert supervisor.recv(1) == b""


def test_one_that_is_needed_early_imports_the_rest(tmp_path: Path) -> None:
    with _spare(tmp_path, [_numpy()]) as (process, supervisor):
        supervisor.sendall(b".")
        supervisor.close()
        assert process.communicate(timeout=60)[0] == "__main__ ['word'] True\n"
        assert process.returncode == 0
