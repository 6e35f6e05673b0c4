"""Keras' own tests, as its wheel ships them: the same pass under `pitstop run` as without.

usage: python benchmarks/peers.py [NAME ...]      NAME: part of a path, such as csv_logger
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

_TESTS = (
    "callbacks/backup_and_restore_test.py",
    "callbacks/callback_test.py",
    "callbacks/csv_logger_test.py",
    "callbacks/early_stopping_test.py",
    "callbacks/model_checkpoint_test.py",
    "trainers/trainer_test.py",
)
# The tests of trainers import it at their top, for those of JAX's own.
_STAND_IN = "import sys, types, keras; sys.modules.setdefault('jax', types.ModuleType('jax'))"
_PYTHON = Path(sys.executable)
_PITSTOP = (str(_PYTHON.parent / "pitstop"), "run", "--no-status-line", "--run-dir", "run", "--")


def main() -> int:
    """Runs both, and prints every test that differs."""
    spec = find_spec("keras")
    assert spec is not None
    source = Path(str(spec.origin)).parent / "src"
    chosen = [each for each in _TESTS if not sys.argv[1:] or any(n in each for n in sys.argv[1:])]
    missing = [each for each in chosen if not (source / each).exists()]
    if missing or not chosen:
        print(f"This wheel of Keras has no {', '.join(missing) or 'such tests'}.")
        return 2
    differing = sum(_compare(source / each) for each in chosen)
    print("the same tests pass" if not differing else f"{differing} tests differ")
    return int(differing > 0)


def _compare(file: Path) -> int:
    plain, watched = _outcomes(file, ()), _outcomes(file, _PITSTOP)
    counted = Counter(plain.values())
    print(f"{file.name}: {len(plain)} tests, {dict(sorted(counted.items()))}", flush=True)
    names = sorted(
        name for name in plain.keys() | watched.keys() if plain.get(name) != watched.get(name)
    )
    for name in names:
        print(f"   {name}: {plain.get(name)} plainly, {watched.get(name)} under pitstop run")
    # A file that could not even be collected is no agreement.
    return len(names) or int("passed" not in plain.values())


def _outcomes(file: Path, before: tuple[str, ...]) -> dict[str, str]:
    """What became of each test, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # Not the settings of the folder that the wheel happens to lie in.
        settings = (
            "-p",
            "stand_in",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            f"--rootdir={folder}",
        )
        words = ("-m", "pytest", "-q", *settings, f"--junitxml={report}", str(file))
        command = [*before, str(_PYTHON), *words]
        (Path(folder) / "stand_in.py").write_text(_STAND_IN)
        environment = {**os.environ, "PYTHONPATH": folder}
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        if not report.exists():
            return {}
        return dict(map(_outcome, ElementTree.parse(report).iter("testcase")))


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    ends = [each.tag for each in case if each.tag in ("failure", "error", "skipped")]
    return f"{case.get('classname')}.{case.get('name')}", ends[0] if ends else "passed"


if __name__ == "__main__":
    sys.exit(main())
