"""What every Python process of a run loads first: little, and nothing of the user's is lost."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pitstop

PACKAGE = Path(pitstop.__file__).parent
SITE = PACKAGE / "inject" / "site"


def python(program: str, *path: Path, socket: str = "/nowhere/socket", **extra: str) -> str:
    """What a program prints in an instrumented interpreter."""
    entries = os.pathsep.join(str(entry) for entry in (SITE, *path))
    environment = {**os.environ, "PYTHONPATH": entries, "PITSTOP_SOCKET": socket, **extra}
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout.strip()


LOADED = "import sys; print(*(name for name in sys.modules if name.startswith('pitstop')))"


def test_it_waits_for_the_frameworks_and_loads_little() -> None:
    assert sorted(python(LOADED).split()) == [
        "pitstop",
        "pitstop.engine",
        "pitstop.engine.audit_events",
        "pitstop.engine.files",
        "pitstop.engine.files.appended_files",
        "pitstop.engine.files.attempt_records",
        "pitstop.engine.files.earlier_files",
        "pitstop.engine.files.file_access",
        "pitstop.engine.files.file_looks",
        "pitstop.engine.files.made_folders",
        "pitstop.engine.files.output_files",
        "pitstop.engine.files.path_record",
        "pitstop.engine.files.renamed_files",
        "pitstop.engine.files.rewritten_files",
        "pitstop.engine.hooking",
        "pitstop.engine.library_imports",
        "pitstop.engine.program",
        "pitstop.engine.randomness",
        "pitstop.engine.randomness.outside",
        "pitstop.engine.session",
        "pitstop.engine.session.exit_calls",
        "pitstop.inject",
        "pitstop.inject.autoload",
    ]
    program = "import sys; print(*{'numpy', 'tensorflow', 'keras', 'asyncio'} & set(sys.modules))"
    assert python(program) == ""


def test_without_a_run_nothing_is_loaded() -> None:
    assert python(LOADED, socket="") == ""


def test_sys_path_gains_only_the_site_folder() -> None:
    program = "import sys; print(*sys.path, sep='\\n')"
    plain = python(program, socket="", PYTHONPATH="").splitlines()
    assert [entry for entry in python(program).splitlines() if entry not in plain] == [str(SITE)]


def test_modules_of_the_user_are_not_shadowed(tmp_path: Path) -> None:
    # Names that Pitstop's own modules have.
    for name in ("errors", "keras", "store", "cli"):
        (tmp_path / f"{name}.py").write_text(f"WHOSE = 'user {name}'\n")
    program = "import errors, keras, store, cli; print(errors.WHOSE, keras.WHOSE, store.WHOSE)"
    assert python(program, tmp_path) == "user errors user keras user store"


def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nSEEN = os.getpid()\nprint('mine')\n")
    program = "import os, sitecustomize; print(sitecustomize.SEEN == os.getpid())"
    assert python(program, tmp_path).split() == ["mine", "True"]
    assert python(program, tmp_path, socket="").split() == ["mine", "True"]


def test_a_sitecustomize_package_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize").mkdir()
    (tmp_path / "sitecustomize" / "__init__.py").write_text("from .part import WORD\n")
    (tmp_path / "sitecustomize" / "part.py").write_text("WORD = 'packaged'\n")
    assert python("import sitecustomize; print(sitecustomize.WORD)", tmp_path) == "packaged"


@pytest.mark.skipif(
    importlib.util.find_spec("sitecustomize") is not None, reason="this Python brings one along"
)
def test_without_one_of_the_users_ours_stays() -> None:
    assert python("import sitecustomize; print(sitecustomize.__file__)") == str(
        SITE / "sitecustomize.py"
    )


def test_a_pitstop_that_is_imported_is_not_loaded_twice() -> None:
    program = "import pitstop, sys; print(sys.modules['pitstop'] is pitstop, pitstop.__file__)"
    assert python(program, PACKAGE.parent) == f"True {PACKAGE / '__init__.py'}"


def test_children_are_instrumented_too() -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOADED!r}])"
    assert "pitstop.inject.autoload" in python(program)


@pytest.mark.parametrize("flag", ["-S", "-I"])
def test_an_isolated_interpreter_is_left_alone(flag: str) -> None:
    program = (
        f"import subprocess, sys; subprocess.run([sys.executable, {flag!r}, '-c', {LOADED!r}])"
    )
    assert python(program) == ""


_DRAWS = """
import random, subprocess, sys
import numpy as np
drawn = [random.random(), np.random.rand(), np.random.default_rng().random()]
print(*drawn, np.random.RandomState().rand(), np.random.default_rng().random())
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "-c", "import random; print(random.random())"])
random.seed(1), np.random.seed(1)
print(random.random(), np.random.rand(), np.random.default_rng(1).random())
"""


def test_what_a_script_does_not_seed_begins_with_the_run() -> None:
    def run(entropy: str) -> list[str]:
        return python(_DRAWS, PITSTOP_ENTROPY=entropy).splitlines()

    first, again, other, plain = run("ab12"), run("ab12"), run("cd34"), run("")
    assert first[0] == again[0]
    assert len({*first[0].split(), *other[0].split(), *plain[0].split()}) == 15
    # A child must not draw what its parent, or the child of another attempt, drew.
    assert first[1] != again[1]
    # What the script seeds is left alone.
    assert first[2] == again[2] == other[2] == plain[2]
