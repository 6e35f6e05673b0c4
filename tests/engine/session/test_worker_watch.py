"""Children that die are told of; those that end, or were ended, are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.supervisor.launch import environment, until

_PROGRAM = """
import json, multiprocessing, os, signal, sys, time
from pitstop.engine.session.exit_watch import WorkerWatch

def work(way):
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "exits":
        os._exit(3)
    if way == "waits":
        time.sleep(60)

def main():
    seen = []
    WorkerWatch(seen.append).install()
    context = multiprocessing.get_context(sys.argv[2])
    worker = context.Process(target=work, args=(sys.argv[1],))
    worker.start()
    if sys.argv[1] == "waits":
        worker.terminate()
    worker.join()
    print(json.dumps([[each.pid == worker.pid, each.signal, each.exit_code] for each in seen]))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("killed", [[True, "SIGKILL", None]]),
        ("exits", [[True, "", 3]]),
        ("ends", []),
        ("waits", []),
    ],
)
def test_what_is_told_of_a_child(
    tmp_path: Path, way: str, method: str, told: list[list[object]]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_PROGRAM)
    shown = subprocess.run(
        [sys.executable, script, way, method],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(shown.stdout) == told


def test_a_pool_tells_of_the_worker_that_it_replaces(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, signal, sys\n"
        "from pitstop.engine.session.exit_watch import WorkerWatch\n"
        "if __name__ == '__main__':\n"
        "    WorkerWatch(lambda event: print(event.signal, flush=True)).install()\n"
        "    pool = multiprocessing.Pool(2)\n"
        # In the middle of a task a worker holds no lock that the others, and the end, wait for.
        "    pool.apply_async(signal.raise_signal, (9,))\n"
        "    sys.stdin.read()\n"
        "    pool.terminate()\n"
    )
    with subprocess.Popen(
        [sys.executable, script],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert until(process.stdout.readline) == "SIGKILL\n"
        # Those that it ends itself are none to tell of.
        assert process.communicate("")[0] == ""
