"""Files that the script appends to: what repeats an earlier attempt is in them once."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.files.appended_files import APPENDED_FILE, same

ATTEMPT = """
import os, sys
from pathlib import Path
from pitstop.engine.files.appended_files import APPENDED
os.makedirs(sys.argv[1], exist_ok=True)
APPENDED.watch(Path(sys.argv[1]))
APPENDED.is_resumed = sys.argv[1][-1] > '1'
def append(text, path="rows.csv"):
    with open(path, "a") as file:
        file.write(text)
{}
print("doubt:", APPENDED.leave())
"""


class Run:
    """Runs code as the attempts of one run, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "rows.csv"

    def attempt(self, number: int, code: str) -> str:
        """Runs it; the last line of what it says."""
        script = self.folder / "script.py"
        script.write_text(ATTEMPT.format(code))
        ended = subprocess.run(
            [sys.executable, str(script), str(self.folder / "run" / "attempts" / str(number))],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout.splitlines()[-1].removeprefix("doubt: ")

    @property
    def rows(self) -> str:
        return self.file.read_text()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_what_is_appended_again_is_there_once(run: Run) -> None:
    run.attempt(1, "append('a\\n'); append('b\\n')")
    assert run.attempt(2, "append('a\\n'); append('b\\n'); append('c\\n')") == ""
    assert run.rows == "a\nb\nc\n"
    assert run.attempt(3, "append('a\\n')") == ""
    assert run.rows == "a\nb\nc\n"


def test_equal_rows_are_counted(run: Run) -> None:
    run.attempt(1, "append('0.5\\n'); append('0.5\\n')")
    run.attempt(2, "append('0.5\\n'); append('0.5\\n'); append('0.5\\n')")
    assert run.rows == "0.5\n" * 3


def test_what_was_there_before_the_run_stays(run: Run) -> None:
    run.file.write_text("a\n")
    run.attempt(1, "append('a\\n')")
    run.attempt(2, "append('a\\n'); append('b\\n')")
    assert run.rows == "a\na\nb\n"


def test_a_reader_finds_nothing_twice(run: Run) -> None:
    run.attempt(1, "append('a\\n'); append('b\\n')")
    code = (
        "append('a\\n'); append('b\\n'); text = open('rows.csv').read(); append(text, 'seen.txt')"
    )
    assert run.attempt(2, code) == ""
    assert (run.folder / "seen.txt").read_text() == "a\nb\n"


def test_a_reader_that_finds_what_is_not_repeated_yet_is_named(run: Run) -> None:
    run.attempt(1, "append('a\\n'); append('b\\n')")
    assert "rows.csv" in run.attempt(2, "append('a\\n'); open('rows.csv').read()")


def test_a_header_that_only_an_empty_file_gets(run: Run) -> None:
    code = "os.path.exists('rows.csv') or append('name,loss\\n'); append('a,1\\n')"
    run.attempt(1, code)
    assert run.attempt(2, f"{code}; append('b,2\\n')") == ""
    assert run.rows == "name,loss\na,1\nb,2\n"


def test_a_script_that_reads_what_it_has_done(run: Run) -> None:
    run.attempt(1, "append('a\\n'); append('b\\n')")
    assert run.attempt(2, "open('rows.csv').read(); append('b\\n')") == ""
    assert run.rows == "a\nb\nb\n"


def test_lines_that_differ_by_a_clock_only_are_there_once(run: Run) -> None:
    run.attempt(1, "append('09:59:58 start\\n9.9 s: a\\n'); append('took 9s: b\\n')")
    code = "append('10:07:03 start\\n10.1 s: a\\n'); append('took 11s: b\\n10.2 s: c\\n')"
    assert run.attempt(2, code) == ""
    assert run.rows == "09:59:58 start\n9.9 s: a\ntook 9s: b\n10.2 s: c\n"
    assert run.attempt(3, "append('11:00:00 start\\n9.8 s: a\\n')") == ""
    assert run.rows == "09:59:58 start\n9.9 s: a\ntook 9s: b\n10.2 s: c\n"


def test_rows_of_a_table_with_a_column_of_times(run: Run) -> None:
    code = "os.path.exists('rows.csv') or append('trial,loss,seconds\\n'); append('a,1,{}\\n')"
    run.attempt(1, code.format(7.5))
    assert run.attempt(2, f"{code.format(0.1)}; append('b,2,10\\n')") == ""
    assert run.rows == "trial,loss,seconds\na,1,7.5\nb,2,10\n"


def test_a_line_that_is_not_written_to_its_end_is_kept_until_then(run: Run) -> None:
    run.attempt(1, "append('10:00:01 a\\n10:00:02 b\\n')")
    code = "append('10:01:01 a\\n10:01'); APPENDED.settle(); append(':02 b\\n10:01:03 c\\n')"
    assert run.attempt(2, code) == ""
    assert run.rows == "10:00:01 a\n10:00:02 b\n10:01:03 c\n"


def test_another_value_beside_another_time_is_kept_and_named(run: Run) -> None:
    run.attempt(1, "append('10:00:01 loss 0.5\\n')")
    assert "rows.csv" in run.attempt(2, "append('10:01:01 loss 0.6\\n')")
    assert run.rows == "10:00:01 loss 0.5\n10:01:01 loss 0.6\n"


def test_other_rows_are_kept_and_named(run: Run) -> None:
    run.attempt(1, "append('a\\n')")
    assert "rows.csv" in run.attempt(2, "append('other\\n')")
    assert run.rows == "a\nother\n"


def test_a_run_that_had_not_trained_is_not_less_exact(run: Run) -> None:
    run.attempt(1, "append('began by a\\n')")
    code = "APPENDED.is_resumed = False; append('began by b\\n')"
    assert run.attempt(2, code) == ""
    assert run.rows == "began by a\nbegan by b\n"


@pytest.mark.parametrize(
    ("before", "doubt", "rows"),
    [("a\n", "", "a\nother\nb\n"), ("a\nb\n", "rows.csv", "a\nb\na\nother\nb\n")],
)
def test_rows_of_another_process_are_kept(run: Run, before: str, doubt: str, rows: str) -> None:
    run.attempt(1, f"append({before!r})")
    other = "os.system('echo other >> rows.csv')"
    assert doubt in run.attempt(2, f"append('a\\n'); {other}; append('b\\n')")
    assert run.rows == rows


def test_a_file_that_is_written_anew_is_left_alone(run: Run) -> None:
    code = "open('rows.csv', 'w').write('name\\n'); append('a\\n')"
    run.attempt(1, code)
    assert run.attempt(2, code) == ""
    assert run.rows == "name\na\n"


def test_rows_with_other_values_are_kept_and_named(run: Run) -> None:
    """Rows of another process may be alike."""
    run.attempt(1, "append('fold 0, loss 0.25\\n')")
    goes_on = f"told = APPENDED.go_on({{{str(run.file)!r}: 18}}); append(told, 'told.txt')"
    run.attempt(2, f"append('fold 0, loss 0.5\\n'); {goes_on}")
    assert "rows.csv" in (run.folder / "told.txt").read_text()
    assert run.rows == "fold 0, loss 0.25\nfold 0, loss 0.5\n"


def test_a_script_that_leaves_out_what_it_had_done_may_append_the_same_anew(run: Run) -> None:
    run.attempt(1, "append('ok\\n'); append('ok\\n')")
    assert "rows.csv" in run.attempt(2, "APPENDED.skips = True; append('ok\\n')")
    assert run.rows == "ok\n" * 3


def test_other_rows_of_a_script_that_leaves_out_what_it_had_done(run: Run) -> None:
    run.attempt(1, "append('a\\n')")
    assert run.attempt(2, "APPENDED.skips = True; append('b\\n'); open('rows.csv').read()") == ""
    assert run.rows == "a\nb\n"


def test_a_file_with_two_names_is_one(run: Run) -> None:
    code = "append('a\\n', 'link.csv'); append('b\\n')"
    (run.folder / "link.csv").symlink_to("rows.csv")
    run.attempt(1, code)
    assert run.attempt(2, f"{code}; APPENDED.go_on({{{str(run.file)!r}: 4}}); append('c\\n')") == ""
    assert run.rows == "a\nb\nc\n"


def test_a_log_that_is_rotated_is_named(run: Run) -> None:
    run.attempt(1, "append('a\\n'); append('b\\n')")
    code = "append('a\\n'); os.rename('rows.csv', 'rows.csv.1'); append('b\\n')"
    assert "rows.csv" in run.attempt(2, code)


def test_what_a_child_appends_again_is_named(run: Run) -> None:
    child = "subprocess.run([sys.executable, '-c', append_in_child])"
    code = (
        f'import subprocess; append_in_child = \'open("rows.csv", "a").write("x\\\\n")\'; {child}'
    )
    run.attempt(1, "append('x\\n')")
    assert "rows.csv" in run.attempt(2, code)
    assert run.rows == "x\nx\n"


def test_a_script_that_goes_on_in_the_middle(run: Run) -> None:
    path = str(run.file)
    run.attempt(1, "append('1\\n'); append('2\\n'); append('3\\n')")
    code = f"APPENDED.go_on({{{path!r}: 4}}); append('3\\n'); append('4\\n')"
    assert run.attempt(2, code) == ""
    assert run.rows == "1\n2\n3\n4\n"


def test_processes_of_one_attempt_go_on_behind_each_other(run: Run) -> None:
    for row in "abc":
        run.attempt(1, f"append('{row}\\n')")
    for row in "abcd":
        assert run.attempt(2, f"append('{row}\\n')") == ""
    assert run.rows == "a\nb\nc\nd\n"


def test_a_fork_of_the_script_is_not_the_script(run: Run) -> None:
    run.attempt(1, "append('a\\n')")
    run.attempt(2, "os.fork() or (append('a\\n'), os._exit(0)); os.wait()")
    assert run.rows == "a\na\n"


@pytest.mark.parametrize("content", ["[1]", "{", '["a", "b"]', "\x00", '["rows.csv", 1, 2]'])
def test_a_malformed_record_of_an_earlier_attempt(run: Run, content: str) -> None:
    (run.folder / "run/attempts/1").mkdir(parents=True)
    (run.folder / "run/attempts/1" / APPENDED_FILE).write_text(content)
    assert run.attempt(2, "append('a\\n')") == ""
    assert run.rows == "a\n"


def test_a_record_of_others_removes_nothing_that_was_there(run: Run) -> None:
    (run.folder / "run/attempts/1").mkdir(parents=True)
    run.file.write_text("a\nb\n")
    line = json.dumps([str(run.file), 0])
    (run.folder / "run/attempts/1" / APPENDED_FILE).write_text(line)
    run.attempt(2, f"APPENDED.go_on({{{str(run.file)!r}: 2}}); append('c\\n')")
    assert run.rows.startswith("a\nb\n")


def test_text_that_is_the_same() -> None:
    assert same(b"ab", b"a") == (1, 1)
    assert same(b"a", b"ab") == (1, 1)
    assert same(b"a", b"b") == same(b"", b"a") == (0, 0)


@given(st.lists(st.sampled_from("ab"), max_size=5), st.data())
def test_a_repetition_in_any_pieces(rows: list[str], data: st.DataObject) -> None:
    # What a file holds behind a repetition of all its rows, told at any moments.
    earlier = "".join(rows).encode()
    position = 0
    appended = earlier + b"c"
    while position < len(earlier):
        count = data.draw(st.integers(1, len(appended) - position))
        _, found = same(earlier[position:], appended[position : position + count])
        assert found == min(count, len(earlier) - position)
        position += found
    with contextlib.suppress(IndexError):
        assert appended[position] == ord("c")
