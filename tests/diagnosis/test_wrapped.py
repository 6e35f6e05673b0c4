"""A prefix that a service adds to every line does not change the cause."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.diagnosis import diagnose, load
from tests.source_tree import ROOT

_CORPUS = ROOT / "tests" / "diagnosis" / "corpus"
_EVERY = 5
_FEWEST_LINES = 3


def _time(number: int) -> str:
    return f"10:{number // 60 % 60:02d}:{number % 60:02d}"


WRAPPERS: dict[str, Callable[[int, str], str]] = {
    "airflow": lambda n, line: f"[2024-07-01 {_time(n)},102] {{subprocess.py:93}} INFO - {line}",
    "logging": lambda n, line: f"2024-07-01 {_time(n)},102 - train - ERROR - {line}",
    "loguru": lambda n, line: f"2024-07-01 {_time(n)}.102 | ERROR    | __main__:main:12 - {line}",
    "spark": lambda n, line: f"24/07/01 {_time(n)} ERROR PythonRunner: {line}",
    "launcher": lambda n, line: f"2024-07-01T{_time(n)}.110Z INFO  launcher {line}",
    "google": lambda n, line: f"2024-07-01 {_time(n)}.102 CEST workerpool0-0 {line}",
    "gcloud": lambda n, line: f"ERROR\t2024-07-01 {_time(n)} +0000\tworkerpool0-0\t\t{line}",
    "determined": lambda n, line: f"[2024-07-01T{_time(n)}.000000Z] 1a2b3c4d || {line}",
    "sagemaker": lambda n, line: f"2024-07-01T{_time(n)}.004Z algo-1-7xk2p | {line}",
    "skypilot": lambda _, line: f"(train, pid=4711) {line}",
    "clock": lambda n, line: f"[{_time(n)}] {line}",
    "kaggle": lambda n, line: (
        f"{',' if n else '['}{json.dumps({'stream_name': 'stderr', 'time': n, 'data': line})}"
    ),
    "payload": lambda _, line: json.dumps({"severity": "ERROR", "jsonPayload": {"message": line}}),
}


_NEED_THEIR_LINES = {
    *("jx_completed", "jx_killed", "k3_check_numerics", "k3_ran_out", "k3_terminated"),
    *("py_completed_another_stopped", "py_indent", "py_syntax", "py_usage", "py_waits"),
    "py_worker_then_ctrl_c",
}
"""On one line even a reader does not see where what they say at their end begins."""


def _some_logs(every: int = _EVERY) -> list[tuple[str, str]]:
    rows = (_CORPUS / "labels.tsv").read_text(encoding="utf-8").splitlines()[1::every]
    return [(row.split("\t")[0], row.split("\t")[1]) for row in rows]


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_prefix_does_not_change_the_cause(name: str, tmp_path: Path) -> None:
    wrong = []
    for log, cause in _some_logs():
        lines = (_CORPUS / f"{log}.log").read_text(encoding="utf-8", errors="replace").split("\n")
        if len(lines) < _FEWEST_LINES:
            continue
        wrapped = tmp_path / "wrapped.log"
        text = "\n".join(WRAPPERS[name](number, line) for number, line in enumerate(lines))
        wrapped.write_text(text, encoding="utf-8")
        finding = diagnose(load.from_log(wrapped)).finding
        if finding is None or finding.cause != cause:
            wrong.append((log, cause, finding and finding.cause))
    assert wrong == []


def test_lines_that_a_page_has_joined_have_the_same_cause(tmp_path: Path) -> None:
    wrong = set()
    for log, cause in _some_logs(every=1):
        text = (_CORPUS / f"{log}.log").read_text(encoding="utf-8", errors="replace")
        joined = tmp_path / "joined.log"
        joined.write_text(re.sub(r"\s*\n\s*", " ", text.strip()), encoding="utf-8")
        finding = diagnose(load.from_log(joined)).finding
        if finding is None or finding.cause != cause:
            wrong.add(log)
    assert wrong == _NEED_THEIR_LINES


def test_the_number_of_a_joined_line_is_that_of_the_file(tmp_path: Path) -> None:
    joined = tmp_path / "joined.log"
    joined.write_text(
        "one\nTraceback (most recent call last): File \"a.py\", line 1, in <module> KeyError: 'a'"
        "\ntwo\n\nThree: KeyError\nMemoryError\n",
        encoding="utf-8",
    )
    finding = diagnose(load.from_log(joined)).finding
    assert finding is not None
    assert finding.evidence[0].text == "line 6: MemoryError"
