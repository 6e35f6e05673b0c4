"""What loggers, launchers and containers put before a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnosis.log import lines
from pitstop.diagnosis.log.lines import Line, split

DECORATED = [
    ("2026-01-02 03:04:05,678 - ERROR - it failed", "it failed", ""),
    ("[2026-01-02 03:04:05] it failed", "it failed", ""),
    ("2026-01-02T03:04:05.678901234Z stderr F   File", "  File", ""),
    ("stderr: it failed", "it failed", ""),
    ("[rank3]: Traceback", "Traceback", "[rank3]:"),
    ("[rank3]:   File", "  File", "[rank3]:"),
    ("(Trainer pid=12, ip=10.0.0.1) it failed", "it failed", "(Trainer pid=12, ip=10.0.0.1)"),
    ("[1,0]<stderr>:it failed", "it failed", "[1,0]<stderr>:"),
    ("3: it failed", "it failed", "3:"),
    ("train_1  | it failed", "it failed", "train_1  |"),
    ("[pod/train-0/main] it failed", "it failed", "[pod/train-0/main]"),
    ("Jan  2 03:04:05 node1 python[12]: it failed", "it failed", ""),
    ("[80746] it failed", "it failed", ""),
    ("> it failed", "it failed", ""),
    ('{"log":"it failed\\n","stream":"stderr"}', "it failed", ""),
    ('{"message":"it failed","rank":2}', "it failed", "2"),
    ('{"log":"\\u001b[31mit failed\\u001b[0m\\n"}', "it failed", ""),
    ("INFO:tensorflow:it failed", "it failed", ""),
    ("02:13:51.152 [main] INFO yelp.Train - it failed", "it failed", ""),
    ("704.7s\t1385\tit failed", "it failed", ""),
    ("704.7s\t1385\t[rank0]: it failed", "it failed", "[rank0]:"),
    ("[03:04:05] it failed", "it failed", ""),
    ("[ 7221.101] it failed", "it failed", ""),
    ("I0102 03:04:05.678901 140223 train.py:101] it failed", "it failed", ""),
    ("algo-1-7xk2p | it failed", "it failed", "algo-1-7xk2p |"),
    ("(train, pid=4711) it failed", "it failed", "(train, pid=4711)"),
    ('[{"stream_name":"stderr","time":12.4,"data":"it failed\\n"}', "it failed", ""),
    (',{"stream_name":"stderr","time":12.4,"data":"it failed\\n"}', "it failed", ""),
    ('{"severity":"ERROR","jsonPayload":{"message":"it failed"}}', "it failed", ""),
    ("jax.errors.UnfilteredStackTrace: ValueError: it failed", "ValueError: it failed", ""),
]
BARE = [
    "it failed",
    "    indented",
    "{not: json",
    "2026-01-02 03:04:05.678901: E tensorflow/core/x.cc:12] text",
    "12/100 [===>...] - loss: 0.1",
    "[[{{node IteratorGetNext}}]]",
]


@pytest.mark.parametrize(("raw", "text", "group"), DECORATED)
def test_decoration_is_taken_off(raw: str, text: str, group: str) -> None:
    assert list(split(raw)) == [Line(1, text, group)]


@pytest.mark.parametrize("raw", BARE)
def test_what_is_no_decoration_stays(raw: str) -> None:
    assert next(split(raw)).text == raw


@pytest.mark.parametrize(
    "head",
    [
        "2024-07-01 10:00:0{n},102 - train - {level} - ",
        "2024-07-01 10:00:0{n}.102 | {level}    | __main__:main:12 - ",
        "2024-07-01T10:00:0{n}Z {level}  launcher ",
        "[2024-07-01 10:00:0{n},102] {{subprocess.py:93}} INFO - ",
        "[2024-07-01T10:00:0{n}.0Z] 1a2b3c4d || ",
    ],
)
def test_what_stands_before_all_lines_behind_the_time_is_taken_off(head: str) -> None:
    messages = ["Epoch 3/3", "  8/8 - 1s - loss: 0.7", "Killed"]
    levels = ["INFO", "ERROR", "WARNING"]
    raws = [
        head.format(n=n, level=level) + message
        for n, (level, message) in enumerate(zip(levels, messages, strict=True))
    ]
    assert [line.text for line in split("\n".join(raws))] == messages


@pytest.mark.parametrize(
    "messages",
    [
        ["epoch 1 loss 0.5", "epoch 2 loss 0.4", "epoch 3 loss 0.3"],
        ["1/8 - loss: 0.5", "2/8 - loss: 0.4", "3/8 - loss: 0.3"],
        ["step-1 done", "step-2 done", "step-3 done"],
    ],
)
def test_what_counts_is_no_part_of_what_stands_before(messages: list[str]) -> None:
    raws = [f"2024-07-01 10:00:0{n} {message}" for n, message in enumerate(messages)]
    assert [line.text for line in split("\n".join(raws))] == messages


def test_an_exception_in_a_record_has_its_own_lines() -> None:
    trace = "Traceback (most recent call last):\\nKeyError: 1"
    raw = f'{{"event":"it failed","epoch":2,"exception":"{trace}"}}'
    assert [line.text for line in split(raw)] == [
        "it failed",
        "Traceback (most recent call last):",
        "KeyError: 1",
    ]


def test_a_bar_is_parted_from_what_native_code_says_and_no_word_is_cut() -> None:
    said = "2021-02-18 20:55:36.002311: E tensorflow/x.cc:951] it failed"
    assert [line.text for line in split(f"50/61 [===>.] - loss: 0.99{said}")] == [
        "50/61 [===>.] - loss: 0.99",
        said,
    ]
    assert [line.text for line in split("worker-0   0/1   OOMKilled   2")] == [
        "worker-0   0/1   OOMKilled   2"
    ]


def test_lines_are_numbered_from_the_given_one() -> None:
    assert [line.number for line in split("a\nb", 41)] == [41, 42]


def test_the_prefix_of_an_unknown_logger_is_learnt_from_a_traceback() -> None:
    text = (
        "12:01:07.1 [177/train (pid 9)] node-4 Traceback (most recent call last):\n"
        '12:01:07.2 [177/train (pid 9)] node-4   File "a.py", line 3, in main\n'
        "12:01:07.3 [177/train (pid 9)] node-4 OSError: full\n"
        "something else\n"
    )
    texts = [line.text for line in split(text)]
    assert texts[1:4] == ['  File "a.py", line 3, in main', "OSError: full", "something else"]


def test_a_bar_before_a_traceback_is_no_prefix() -> None:
    text = '3/20 loss: 0.5Traceback (most recent call last):\n  File "a.py", line 3\n'
    assert next(split(text)).text == "3/20 loss: 0.5"


@pytest.mark.parametrize(
    "said",
    [
        "train.sh: line 3:  4711 Killed                  python train.py",
        "Segmentation fault (core dumped)",
        "Traceback (most recent call last):",
        "slurmstepd: error: Detected 1 oom_kill event",
    ],
)
def test_what_sticks_to_a_bar_is_a_line_of_its_own(said: str) -> None:
    texts = [line.text for line in split(f" 7/20 [=>...] - loss: 1.5249{said}")]
    assert texts == [" 7/20 [=>...] - loss: 1.5249", said]


def test_a_traceback_on_one_line_is_taken_apart() -> None:
    text = (
        'The replica 0 failed. Traceback (most recent call last): File "/a/b.py", line 3, in main '
        'go(1) File "/a/c.py", line 4, in go raise x a.b.NotFoundError: c.txt; No such file'
    )
    assert [line.text for line in split(text)] == [
        "The replica 0 failed.",
        "Traceback (most recent call last):",
        'File "/a/b.py", line 3, in main',
        "    go(1)",
        'File "/a/c.py", line 4, in go',
        "    raise x",
        "a.b.NotFoundError: c.txt; No such file",
    ]


def test_what_stands_before_a_traceback_on_one_line_is_no_logger_s_mark() -> None:
    text = (
        "0/2 [00:00<?]WARNING:torch.api:Sending  ERROR:torch.api:failed (exitcode: -9)   "
        'Traceback (most recent call last):   File "/b/run", line 3, in <module>'
    )
    assert "failed (exitcode: -9)" in [line.text for line in split(text)]


@pytest.mark.parametrize("quote", ['"', '\\"'])
def test_a_traceback_in_a_quoted_text_is_taken_apart(quote: str) -> None:
    frame = f"\\n  File {quote}a.py{quote}, line 3"
    text = f"said: b'Traceback (most recent call last):{frame}\\nKeyError: 1\\n'"
    assert [line.text for line in split(text)] == [
        "said: b'Traceback (most recent call last):",
        '  File "a.py", line 3',
        "KeyError: 1",
        "'",
    ]


def test_a_traceback_on_one_line_whose_beginning_was_left_out() -> None:
    text = 'Traceback (most recent call last): [...] File "a.py", line 3, in f g() ValueError: no'
    assert [line.text.strip() for line in split(text)][-1] == "ValueError: no"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1m3/20\x1b[0m \x1b[32m━━━\x1b[0m", "3/20 ━━━"),
        ("\r1/20 a\r2/20 b", "2/20 b"),
        ("\x08\x08\x08\r 2/20 b\nnext", " 2/20 b\nnext"),
        ("windows line\r\nnext", "windows line\nnext"),
        ("\x1b]0;title\x07text", "text"),
        ("#033[34mas CloudWatch has it\\033[0m", "as CloudWatch has it"),
        ("no escapes", "no escapes"),
        ("\r\r\n", "\n"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert lines.clean(raw) == shown


@given(st.text(alphabet="ab\n\r\b\x1b[0m", max_size=60))
def test_clean_keeps_the_lines_and_leaves_no_control_characters(raw: str) -> None:
    cleaned = lines.clean(raw)
    assert not set("\r\b") & set(cleaned)
    assert cleaned.count("\n") == raw.count("\n")


def test_last_lines_skip_blank_ones() -> None:
    assert lines.last_lines("a\n\n b \n\n", 2) == ["a", "b"]
