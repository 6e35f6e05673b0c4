"""What a training does that no checkpoint holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import SOURCE

_SCRIPT = """
import os, random, secrets, sys, tempfile, threading, uuid
sys.path.insert(0, sys.argv[1])
from pitstop.engine.randomness import entropy
from pitstop.engine.randomness.outside import OUTSIDE
OUTSIDE.watch()
os.urandom(1)
OUTSIDE.begin(lambda reason: print("told", reason))
os.environ["BEFORE_STEPS"] = "1"
OUTSIDE.begin_steps()
{}
OUTSIDE.leave()
os.urandom(1)
os.environ["BEHIND"] = "1"
"""


def _said(tmp_path: Path, code: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(code))
    source = SOURCE
    return subprocess.check_output([sys.executable, script, source], text=True)


@pytest.mark.parametrize(
    "code",
    [
        "os.urandom(4)",
        "secrets.randbelow(9)",
        "secrets.token_hex()",
        "uuid.uuid4()",
        "random.SystemRandom().shuffle([1, 2])",
        "t = threading.Thread(target=lambda: secrets.randbits(8)); t.start(); t.join()",
    ],
)
def test_a_draw_is_told_with_its_place(tmp_path: Path, code: str) -> None:
    (line,) = _said(tmp_path, code).splitlines()
    assert "script.py:11" in line


_MAKE = """
import numpy.random
from pitstop.inject import streams
OUTSIDE.leave()
streams.seed_numpy()
OUTSIDE.begin(lambda reason: print("told", reason))
OUTSIDE.begin_steps()
own = type("Own", (), dict())()
own.seed, seed, none = 3, 4, None
def make():
    return {call}
t = threading.Thread(target=make); t.start(); t.join()
"""


@pytest.mark.parametrize(
    ("call", "is_told"),
    [
        ("numpy.random.RandomState(7)", False),
        ("numpy.random.RandomState(seed=seed)", False),
        ("numpy.random.RandomState(own.seed)", False),
        ("numpy.random.RandomState(seed + 1).rand()", False),
        ("[numpy.random.RandomState(n) for n in (1, 2)]", False),
        ("numpy.random.RandomState()", True),
        ("numpy.random.RandomState(None)", True),
        ("numpy.random.RandomState(none)", True),
        ("numpy.random.RandomState(secrets.randbits(8))", True),
        ("numpy.random.default_rng()", True),
        ("numpy.random.default_rng(seed)", False),
    ],
)
def test_a_generator_that_a_thread_makes_without_a_seed_is_told(
    call: str, is_told: bool, tmp_path: Path
) -> None:
    code = _MAKE.replace("{call}", call)
    assert bool(_said(tmp_path, code)) == is_told


def test_an_op_with_a_seed_of_its_own_is_told_only_between_steps(tmp_path: Path) -> None:
    draw = "OUTSIDE.drawn_by_seeded_op(lambda: 'here')"
    assert "here" in _said(tmp_path, draw)
    assert not _said(tmp_path, f"OUTSIDE.begin(print); {draw}")


@pytest.mark.parametrize("code", ["os.environ['STATE'] = '2'", "os.environ.pop('BEFORE_STEPS')"])
def test_a_variable_of_the_environment_is_told(tmp_path: Path, code: str) -> None:
    assert "STEPS" in _said(tmp_path, code) or "STATE" in _said(tmp_path, code)


@pytest.mark.parametrize(
    "code",
    [
        "pass",
        "random.random()",
        "tempfile.mkdtemp()",
        "tempfile.NamedTemporaryFile()",
        "from multiprocessing.shared_memory import SharedMemory as S; S(None, True, 1).unlink()",
        "uuid.uuid5",
    ],
)
def test_what_is_not_told(tmp_path: Path, code: str) -> None:
    assert _said(tmp_path, code) == ""
