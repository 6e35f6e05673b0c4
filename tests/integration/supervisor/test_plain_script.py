"""Scripts that never train: stopped by signals, their output and code untouched."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pitstop.events import AttemptEnded, Notice, StopRequested, TrainerExited
from pitstop.store.lock import RunLock, own_record
from pitstop.store.run_folder import LOCK_FILE
from tests.integration.supervisor.launch import (
    PITSTOP,
    call,
    events,
    finish,
    last,
    processes_in,
    run_alone_unchecked,
    run_script,
    start,
    until,
    until_line,
)

pytestmark = pytest.mark.fast

_WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
        ("this is no Python", 1),
    ],
)
def test_exit_code_is_the_script_s_own(tmp_path: Path, script: str, code: int) -> None:
    assert finish(run_script(tmp_path, script)).returncode == code


def test_the_last_attempt_may_still_be_saved(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    # Its supervisor, which began before any process of now, is dead; its persister has the lock.
    dead = replace(own_record(), start_time_ticks=0)
    lock = RunLock.acquire(tmp_path / "run" / LOCK_FILE, dead)
    waiting = run_script(tmp_path, "print('trained')")
    try:
        assert waiting.stderr is not None
        assert any(b"waiting until the last attempt is saved" in line for line in waiting.stderr)
    finally:
        lock.close()
    ended = finish(waiting)
    assert (ended.returncode, ended.stdout) == (0, b"trained\n")


def test_a_script_that_does_not_exist_is_python_s_to_complain_about(tmp_path: Path) -> None:
    ended = call(tmp_path, "run", "--", sys.executable, "absent.py")
    assert ended.returncode == 2
    assert b"can't open file" in ended.stderr


def test_output_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    text = (
        "import os, random\n"
        "data = random.Random(1).randbytes(300_000)\n"
        "for at in range(0, len(data), 7001):\n"
        "    os.write(1, data[at:at + 7001]); os.write(2, data[at:at + 7001][::-1])\n"
    )
    plain = _python(tmp_path, text)
    ended = finish(run_script(tmp_path, text, "--no-status-line"))
    assert ended.stdout == plain.stdout
    assert ended.stderr.startswith(plain.stderr)
    log = (tmp_path / "run" / "attempts" / "1" / "output.log").read_bytes()
    assert len(log) == len(plain.stdout) + len(plain.stderr)


def _python(folder: Path, text: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, check=True, timeout=30
    )


def test_output_into_one_pipe_keeps_its_order(tmp_path: Path) -> None:
    text = "import os\nfor n in range(500):\n    os.write(1 + n % 2, b'%d\\n' % n)\n"
    (tmp_path / "script.py").write_text(text)
    words = ["-m", "pitstop.cli.main", "run", "--run-dir", "run", "--", sys.executable, "script.py"]
    run = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.stdout.split(b"\n")[:500] == [b"%d" % n for n in range(500)]


def test_output_that_nobody_reads_any_more_goes_on_into_the_log(tmp_path: Path) -> None:
    text = "for n in range(100_000): print(n)\nopen('done', 'w').close()\n"
    run = run_script(tmp_path, text)
    for stream in (run.stdout, run.stderr):
        assert stream is not None
        stream.close()
    assert run.wait(timeout=60) == 0
    assert (tmp_path / "done").exists()
    assert (tmp_path / "run/attempts/1/output.log").read_bytes().endswith(b"\n99999\n")


_SAVES = """
import signal, sys, time
def save(number, frame):
    time.sleep(4)
    open(signal.Signals(number).name, "w").close()
    sys.exit()
for each in (signal.SIGTERM, signal.SIGINT): signal.signal(each, save)
print("begun", flush=True)
while True: time.sleep(0.1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_that_saves_by_itself_gets_the_signal_and_the_grace(
    tmp_path: Path, number: signal.Signals
) -> None:
    run = run_script(tmp_path, _SAVES)
    until_line(run, b"begun")
    run.send_signal(number)
    assert finish(run).returncode == 75
    assert (tmp_path / number.name).exists()


def test_a_signal_before_anything_has_begun_is_a_stop(tmp_path: Path) -> None:
    # As early as it can be: Python has found the module, and loads it.
    code = "import os, signal, runpy, sys\nimport pitstop.cli.main as m\n"
    code += "real = m.importlib.import_module\n"
    code += "def late(name): os.kill(os.getpid(), signal.SIGTERM); return real(name)\n"
    code += "m.importlib.import_module = late\nm.main(sys.argv[1:])"
    words = ("run", "--run-dir", "run", "--", "touch", "begun")
    ended = run_alone_unchecked(tmp_path, sys.executable, "-c", code, *words)
    assert ended.returncode == 75
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_descriptor_is_nothing_else(tmp_path: Path, closed: str) -> None:
    text = "import os; os.write(1, b'out'); os.write(2, b'err'); print(os.read(0, 9))"
    (tmp_path / "script.py").write_text(text)
    pitstop = shlex.join([*PITSTOP, "run", "--run-dir", "run", "--", sys.executable, "script.py"])
    ended = run_alone_unchecked(tmp_path, "sh", "-c", f"{pitstop} {closed}")
    assert ended.returncode == 0
    assert (tmp_path / "run/lock").read_bytes().startswith(b"{")
    assert b"out" in (tmp_path / "run/attempts/1/output.log").read_bytes()


def test_script_reads_our_standard_input(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print(input()[::-1])")
    words = ["-m", "pitstop.cli.main", "run", "--run-dir", "run", "--", sys.executable, "script.py"]
    run = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        input=b"abc\n",
        capture_output=True,
        check=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.stdout == b"cba\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_stop_it(tmp_path: Path, number: signal.Signals) -> None:
    run = run_script(tmp_path, _WAITS)
    until_line(run, b"ready")
    run.send_signal(number)
    ended = finish(run)
    asked = last(tmp_path, StopRequested)
    assert ended.returncode == 75
    assert (asked.signal, asked.sender_pid, asked.from_terminal) == (
        number.name,
        os.getpid(),
        False,
    )
    assert last(tmp_path, AttemptEnded).state == "stopped"
    assert processes_in(tmp_path) == []


def test_hang_up_is_ignored_when_it_was_ignored_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_WAITS)
    pitstop = f"{sys.executable} -m pitstop.cli.main"
    shell = f"trap '' HUP; exec {pitstop} run --run-dir run -- {sys.executable} script.py"
    run = subprocess.Popen(
        ["sh", "-c", shell],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    until_line(run, b"ready")
    run.send_signal(signal.SIGHUP)
    run.send_signal(signal.SIGTERM)
    finish(run)
    assert [event.signal for event in events(tmp_path, StopRequested)] == ["SIGTERM"]


def test_script_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    text = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _WAITS
    run = run_script(tmp_path, text, "--grace", "1s")
    until_line(run, b"ready")
    answer = call(tmp_path, "stop", "run")
    assert finish(run).returncode == 75
    assert answer.stdout == b"run is stopped; nothing was saved.\n"
    assert last(tmp_path, TrainerExited).signal == "SIGKILL"


def test_signal_state_of_the_script_is_the_usual_one(tmp_path: Path) -> None:
    text = "cat /proc/self/status"
    shell = call(tmp_path, "run", "--run-dir", "other", "--", "sh", "-c", text).stdout.decode()
    masks = dict(line.split(":\t") for line in shell.splitlines() if line.startswith("Sig"))
    assert int(masks["SigBlk"], 16) == 0
    assert int(masks["SigIgn"], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_leftover_processes_end_with_the_script(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys\n"
        "code = 'import signal,time; signal.signal(15, signal.SIG_IGN); print(1, flush=True);"
        " time.sleep(60)'\n"
        "child = subprocess.Popen([sys.executable, '-c', code], start_new_session=True,"
        " stdout=subprocess.PIPE)\n"
        "child.stdout.read(1)\n"
        "raise SystemExit(4)\n"
    )
    ended = finish(run_script(tmp_path, text))
    assert ended.returncode == 4
    assert processes_in(tmp_path) == []


def test_script_in_the_background_is_supervised_to_its_end(tmp_path: Path) -> None:
    text = (
        "import os, time, pathlib\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "pathlib.Path('done').touch()\n"
    )
    run = run_script(tmp_path, text)
    until(lambda: (tmp_path / "run/journal.jsonl").exists() and _notices(tmp_path))
    (tmp_path / "go").touch()
    ended = finish(run)
    assert ended.returncode == 0
    assert (tmp_path / "done").exists()
    assert _notices(tmp_path)[0] == "daemonized"
    assert ended.stderr.count(b"background") == 1


def test_script_in_the_background_can_be_stopped(tmp_path: Path) -> None:
    text = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(60)\n"
    run = run_script(tmp_path, text)
    until(lambda: (tmp_path / "run/journal.jsonl").exists() and _notices(tmp_path))
    run.send_signal(signal.SIGTERM)
    assert finish(run).returncode == 75
    assert processes_in(tmp_path) == []
    assert _notices(tmp_path) == ["daemonized"]


def _notices(folder: Path) -> list[str]:
    return [event.code for event in events(folder, Notice)]


def test_completed_run_is_not_run_again(tmp_path: Path) -> None:
    first = finish(run_script(tmp_path, "print('trained')"))
    second = finish(run_script(tmp_path, "print('trained')"))
    third = finish(run_script(tmp_path, "print('trained')", "--new"))
    assert (first.returncode, second.returncode, third.returncode) == (0, 0, 0)
    assert (first.stdout, second.stdout, third.stdout) == (b"trained\n", b"", b"trained\n")
    assert b"run is complete" in second.stderr
    assert (tmp_path / "run.1" / "run.json").exists()


def test_a_python_script_that_trains_nothing_is_told_so_once(tmp_path: Path) -> None:
    ended = finish(run_script(tmp_path, "pass"))
    assert ended.stderr.count(b"No training was detected") == 1
    assert b"`python -I`" in ended.stderr
    assert b"Keras" not in call(tmp_path, "run", "--run-dir", "other", "--", "true").stderr


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        (["no-such-program"], 127, b"There is no program 'no-such-program'"),
        (["--no-such-option", "true"], 127, b"Pitstop has no option --no-such-option"),
        (["./data.txt"], 126, b"not an executable program"),
        (["./broken.sh"], 126, b"cannot be executed"),
    ],
)
def test_commands_that_cannot_start(
    tmp_path: Path, command: list[str], code: int, text: bytes
) -> None:
    (tmp_path / "data.txt").write_text("data")
    (tmp_path / "broken.sh").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken.sh").chmod(0o755)
    ended = call(tmp_path, "run", "--", *command)
    assert ended.returncode == code
    assert text in ended.stderr
    assert processes_in(tmp_path) == []


def test_run_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = call(tmp_path, "run", "--run-dir", "file", "--", "true")
    assert refused.returncode == 2
    assert refused.stderr.count(b"\n") == 1


def test_no_process_survives_a_stop_request_during_the_start(tmp_path: Path) -> None:
    run = start(tmp_path, "run", "--run-dir", "run", "--", sys.executable, "-c", _WAITS)
    until(lambda: psutil.Process(run.pid).children())
    run.send_signal(signal.SIGTERM)
    assert finish(run).returncode == 75
    assert processes_in(tmp_path) == []
