"""Tracebacks as they are really printed."""

from __future__ import annotations

from pitstop.diagnosis.log import tracebacks
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.tracebacks import Traceback

HEADER = "Traceback (most recent call last):\n"
FRAME = '  File "/app/train.py", line 8, in main\n    step(batch)\n'
LIBRARY = '  File "/venv/lib/python3.11/site-packages/torch/x.py", line 3, in call\n    go()\n'
CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def find(text: str) -> list[Traceback]:
    return list(tracebacks.find(tuple(split(text))))


def names(found: Traceback) -> list[str]:
    return [raised.name for raised in found.chain]


def test_class_message_frames_and_line_numbers() -> None:
    (found,) = find(f"start\n{HEADER}{FRAME}{LIBRARY}torch.cuda.Bad: no\nmore of it\n")
    assert (found.first, found.title, found.headed) == (2, 7, True)
    raised = found.raised
    assert (raised.name, raised.module) == ("Bad", "torch.cuda")
    assert raised.message == "no\nmore of it"
    assert (raised.file, raised.line, raised.function) == ("/app/train.py", 8, "main")
    assert [frame.code for frame in raised.frames] == ["step(batch)", "go()"]


def test_a_chain_is_one() -> None:
    first, second = f"{HEADER}{FRAME}KeyError: 'a'\n", f"{HEADER}{FRAME}RuntimeError: b\n"
    for joint in (CAUSED, DURING):
        (found,) = find(first + joint + second)
        assert names(found) == ["KeyError", "RuntimeError"]


def test_two_that_only_follow_each_other_are_two() -> None:
    one = f"{HEADER}{FRAME}KeyError: 'a'\n"
    assert [names(each) for each in find(f"{one}{one.replace('Key', 'Value')}")] == [
        ["KeyError"],
        ["ValueError"],
    ]


def test_the_exception_of_a_data_worker_is_inside_of_the_message() -> None:
    text = (
        f"{HEADER}{FRAME}FileNotFoundError: Caught FileNotFoundError in DataLoader worker 0.\n"
        f"Original {HEADER}{FRAME}FileNotFoundError: [Errno 2] No such file: 'a'\n"
    )
    (found,) = find(text)
    assert names(found) == ["FileNotFoundError", "FileNotFoundError"]


def test_the_exception_of_a_spawned_process_is_inside_of_the_message() -> None:
    text = (
        f"{HEADER}{FRAME}torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
        f"-- Process 1 terminated with the following error:\n{HEADER}{FRAME}ValueError: a\n"
    )
    (found,) = find(text)
    assert names(found) == ["ProcessRaisedException", "ValueError"]


def test_the_remote_traceback_of_a_pool() -> None:
    text = (
        f'multiprocessing.pool.RemoteTraceback: \n"""\n{HEADER}{FRAME}ValueError: a\n"""\n'
        f"{CAUSED}{HEADER}{FRAME}ValueError: a\n"
    )
    found = find(text)
    assert names(found[-1])[-2:] == ["ValueError", "ValueError"]
    assert len(found) == 1


def test_a_notebook() -> None:
    text = (
        "-----------------------------------------------------\n"
        "ValueError                                Traceback (most recent call last)\n"
        "Cell In[5], line 11\n      9 a = 1\n---> 11 model.fit(a)\n"
        "File /usr/lib/python3.11/site-packages/keras/x.py:70, in fit(self, x)\n"
        "---> 70     raise e from None\n\nValueError: bad\n"
    )
    (found,) = find(text)
    assert (found.raised.name, found.raised.message) == ("ValueError", "bad")
    assert (found.raised.file, found.raised.line) == ("Cell In[5]", 11)


def test_workers_that_print_at_once_are_told_apart() -> None:
    a = f"{HEADER}{FRAME}ValueError: a".splitlines()
    b = f"{HEADER}{FRAME}KeyError: b".splitlines()
    mixed = "\n".join(
        f"[rank{i}]: {line}" for pair in zip(a, b, strict=True) for i, line in enumerate(pair)
    )
    assert {(each.group, each.raised.name) for each in find(mixed)} == {
        ("[rank0]:", "ValueError"),
        ("[rank1]:", "KeyError"),
    }


def test_where_the_indentation_was_lost_code_is_no_title() -> None:
    text = f'{HEADER}File "a.py", line 3, in f\nx: int = g()\nValueError: bad\n'
    (found,) = find(text)
    assert found.raised.name == "ValueError"


def test_a_box_of_rich() -> None:
    text = (
        "╭──────── Traceback (most recent call last) ────────╮\n"
        "│ /app/train.py:12 in main                          │\n"
        "╰────────────────────────────────────────────────────╯\n"
        "OutOfMemoryError: CUDA out of memory.\n"
    )
    (found,) = find(text)
    assert found.raised.name == "OutOfMemoryError"


def test_a_lone_title_counts_and_is_known_to_be_lone() -> None:
    (found,) = find("  some text\nRuntimeError: CUDA error: out of memory\n")
    assert not found.headed
    assert find("UserWarning: look out\nNote: nothing\nValue: 3\n") == []


def test_tensorflow_one_says_the_class_and_where_to_look() -> None:
    (found,) = find("NotFoundError (see above for traceback): Key a not found\n")
    assert (found.raised.name, found.raised.message) == ("NotFoundError", "Key a not found")


def test_a_callback_is_seen_in_the_frames() -> None:
    keras = "/venv/lib/python3.11/site-packages/keras/src/callbacks/callback_list.py"
    above = f'  File "{keras}", line 172, in on_epoch_end\n    callback.on_epoch_end(epoch)\n'
    own = '  File "/app/train.py", line 9, in on_epoch_end\n    {}["a"]\n'
    (found,) = find(f"{HEADER}{above}{own}KeyError: 'a'\n")
    assert found.raised.callback == "on_epoch_end"


def test_a_message_ends_where_another_speaks() -> None:
    text = f"{HEADER}{FRAME}ValueError: a\nsrun: error: node1: task 0: Exited with exit code 1\n"
    (found,) = find(text)
    assert found.raised.message == "a"


def test_a_message_ends_where_the_training_goes_on() -> None:
    bars = "Restarting ...\n[train: 35, 50 / 1000] loss: 3.4\n[train: 35, 100 / 1000] loss: 3.3\n"
    (found,) = find(f"{HEADER}{FRAME}RuntimeError: cuDNN error\n\n{bars}")
    assert found.raised.message == "cuDNN error\n\nRestarting ..."


def test_frames_inside_a_message_do_not_cut_it_short() -> None:
    frames = "".join(f'  File "/lib/k{each}.py", line 9, in f\n\n' for each in range(90))
    (found,) = find(f"{HEADER}{FRAME}InvalidArgumentError: Graph error:\n{frames}Received a label")
    assert found.raised.message.endswith("Received a label")


def test_a_title_tells_what_the_traceback_below_ended_in() -> None:
    text = f"# IOError: truncated file\n\nWARNING:tensorflow:old\nA note.\n{HEADER}{FRAME}{LIBRARY}"
    (found,) = find(text)
    assert (found.raised.name, found.raised.message) == ("IOError", "truncated file")
    assert [frame.code for frame in found.raised.frames] == ["step(batch)", "go()"]


def test_a_message_that_a_logger_has_put_on_lines_of_its_own() -> None:
    lines = f"{HEADER}{FRAME}RuntimeError\n:\ncuDNN error: INTERNAL".splitlines()
    (found,) = find("\n".join(f"2026-01-02 03:04:05,678 - ERROR - {line}" for line in lines))
    assert found.raised.message == "cuDNN error: INTERNAL"
