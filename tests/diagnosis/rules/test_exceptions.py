"""Exceptions and exit codes; the same class with different meanings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence
from pitstop.events import FitStarted, Notice, ScriptEnded, ThreadFailed
from tests.diagnosis.attempts import (
    CONNECTED,
    FINISHED,
    STARTED,
    Case,
    as_parameters,
    attempt_of,
    check,
    completed,
    epoch,
    exited,
    failed,
    finding_of,
    fit_ended,
    killed,
    printed,
    raised,
)

TF = "OpError Exception BaseException"
OOM_HINT = (
    "Hint: If you want to see a list of allocated tensors when OOM happens, add "
    "report_tensor_allocations_upon_oom to RunOptions for current allocation info."
)


OPENED = (
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    x = {call}\n'
    '  File "/usr/lib/python3/site-packages/h5py/_hl/files.py", line 566, in __init__\n'
    "    fid = make_fid(name, mode)\n"
    "OSError: Unable to synchronously open file (truncated file: eof = 20000)\n"
)


def os_error(number: int, text: str) -> Evidence:
    return failed(raised("OSError", f"[Errno {number}] {text}: 'm.keras'", "Exception"), exited(1))


def tf_error(name: str, message: str) -> Evidence:
    return failed(raised(f"tensorflow.errors.{name}", message, TF), exited(1))


def refused(last_line: str) -> str:
    return (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 20, in load\n    urlopen(url)\n'
        "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        f'  File "train.py", line 22, in <module>\n    {last_line}\n'
        "RuntimeError: no data after 3 tries\n"
    )


RAISED_FROM = refused('raise RuntimeError("no data after 3 tries") from last')
FAILED_MEANWHILE = refused("build(model)")

CASES: list[Case] = [
    (
        "a GPU that is not there",
        tf_error(
            "InvalidArgumentError",
            "Could not satisfy device specification '/job:localhost/device:GPU:0'. "
            "Supported device types [CPU]. All available devices [/device:CPU:0].",
        ),
        "gpu_driver_or_library",
    ),
    (
        "an operation that no GPU has",
        tf_error(
            "InvalidArgumentError",
            "Could not satisfy explicit device specification '/device:GPU:0' because no "
            "supported kernel for GPU devices is available.",
        ),
        "user_code_error",
    ),
    (
        "an exception that stands for another",
        failed(raised("RuntimeError", "no data after 3 tries", traceback=RAISED_FROM), exited(1)),
        "network_or_download_failure",
    ),
    (
        "the same, only printed",
        attempt_of(STARTED, exited(1), output=RAISED_FROM, state="failed"),
        "network_or_download_failure",
    ),
    (
        "an exception while another was handled stands for itself",
        failed(
            raised("RuntimeError", "no data after 3 tries", traceback=FAILED_MEANWHILE), exited(1)
        ),
        "user_code_error",
    ),
    (
        "a file of data that the script opens itself",
        failed(
            raised(
                "OSError",
                "Unable to synchronously open file (truncated file: eof = 20000)",
                traceback=OPENED.format(call='h5py.File("train.h5")'),
            ),
            exited(1),
        ),
        "data_error",
    ),
    (
        "a file of data that is opened for a model",
        failed(
            raised(
                "OSError",
                "Unable to synchronously open file (truncated file: eof = 20000)",
                traceback=OPENED.format(call='train(model, h5py.File("train.h5"))'),
            ),
            exited(1),
        ),
        "data_error",
    ),
    (
        "a file of weights that the script opens itself",
        failed(
            raised(
                "OSError",
                "Unable to synchronously open file (truncated file: eof = 20000)",
                traceback=OPENED.format(call="h5py.File(weights_path)"),
            ),
            exited(1),
        ),
        "checkpoint_corrupt_or_mismatch",
    ),
    ("own code", failed(raised("ValueError", "bad"), exited(1)), "user_code_error"),
    (
        "own callback",
        failed(raised("ValueError", "bad", callback="Plot"), exited(1)),
        "callback_error",
    ),
    (
        "a file that a callback does not find is no input",
        failed(
            raised(
                "FileNotFoundError",
                "[Errno 2] No such file or directory: 'plots/1.png'",
                "OSError Exception",
                callback="Plot",
            ),
            exited(1),
        ),
        "callback_error",
    ),
    ("disk full", os_error(28, "No space left on device"), "disk_full"),
    (
        "disk full in a callback is not the callback's fault",
        failed(
            raised("OSError", "[Errno 28] No space left on device", callback="ModelCheckpoint"),
            exited(1),
        ),
        "disk_full",
    ),
    (
        "disk full, as TensorFlow says it",
        tf_error("ResourceExhaustedError", f"c/x.tempstate; No space left on device {OOM_HINT}"),
        "disk_full",
    ),
    ("quota", os_error(122, "Disk quota exceeded"), "disk_full"),
    ("/dev/shm full", os_error(28, "No space left on device: '/dev/shm/x'"), "shm_exhausted"),
    (
        "too many open files, with the hint about OOM",
        tf_error("ResourceExhaustedError", f"d/1.tfrecord; Too many open files {OOM_HINT}"),
        "too_many_open_files",
    ),
    (
        "host memory, TensorFlow",
        tf_error(
            "ResourceExhaustedError",
            "OOM when allocating tensor with shape[99999,99999] and type float on "
            f"/job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu {OOM_HINT}",
        ),
        "host_alloc_failure",
    ),
    (
        "GPU memory",
        tf_error(
            "ResourceExhaustedError",
            "OOM when allocating tensor with shape[512,512] and type float on "
            f"/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc {OOM_HINT}",
        ),
        "gpu_oom",
    ),
    (
        "host memory, NumPy",
        failed(raised("_ArrayMemoryError", "Unable to allocate 128. MiB", "MemoryError")),
        "host_alloc_failure",
    ),
    ("MemoryError without a message", failed(raised("MemoryError")), "host_alloc_failure"),
    ("cuDNN", tf_error("InternalError", "CUDNN_STATUS_NOT_INITIALIZED"), "gpu_driver_or_library"),
    ("read-only", os_error(30, "Read-only file system"), "permission_or_readonly"),
    ("permission", os_error(13, "Permission denied"), "permission_or_readonly"),
    (
        "no thread",
        failed(raised("RuntimeError", "can't start new thread"), exited(1)),
        "thread_or_process_limit",
    ),
    (
        "peer lost",
        tf_error("UnavailableError", "Collective ops is aborted by: task:1 heartbeat timeout."),
        "worker_lost",
    ),
    (
        "no network",
        failed(
            raised("Exception", "URL fetch failure on x: [Errno -2] Name or service "),
            exited(1),
        ),
        "network_or_download_failure",
    ),
    (
        "a stale handle, which TensorFlow takes for an abort",
        tf_error("AbortedError", "Graph execution error:\n\ndata/a.tfrecord; Stale file handle"),
        "network_or_download_failure",
    ),
    (
        "the reader of a pipe is gone",
        failed(raised("BrokenPipeError", "[Errno 32] Broken pipe", "ConnectionError"), exited(1)),
        "user_code_error",
    ),
    (
        "import",
        failed(raised("ModuleNotFoundError", "No module named 'x'"), exited(1)),
        "dependency_or_import_error",
    ),
    ("damaged record", tf_error("DataLossError", "corrupted record at 1536"), "data_error"),
    (
        "generator of the user",
        tf_error("InvalidArgumentError", "ValueError: x\n [[{{node PyFunc}}]]"),
        "data_error",
    ),
    (
        "label out of range",
        tf_error("InvalidArgumentError", "Received a label value of 7 which is outside the valid"),
        "data_error",
    ),
    (
        "missing data file",
        failed(raised("FileNotFoundError", "[Errno 2] No such file or directory: 'a.csv'")),
        "data_error",
    ),
    (
        "errno 3 is not errno 13",
        failed(raised("ProcessLookupError", "[Errno 3] No such process"), exited(1)),
        "user_code_error",
    ),
    (
        "weights of another model",
        failed(raised("ValueError", "Layer 'dense' weights shape mismatch: expected 2 variables")),
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "died before Pitstop was in it",
        attempt_of(STARTED, exited(1), output=printed("KeyError: 'lr'"), state="failed"),
        "user_code_error",
    ),
    (
        "syntax error",
        attempt_of(
            STARTED,
            exited(1),
            output='  File "/app/train.py", line 3\n    x = = 1\n        ^\n'
            "SyntaxError: invalid syntax\n",
            state="failed",
        ),
        "user_code_error",
    ),
    (
        "refused resume",
        failed(Notice("resume_refused", "The model changed.", "Undo the change."), exited(2)),
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "refused weights",
        failed(
            Notice("weights_refused", "dense/kernel is not in it.", "Start without."), exited(2)
        ),
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "usage error",
        failed(exited(2), output="usage: train.py [-h]\ntrain.py: error: unrecognized: --x\n"),
        "user_code_error",
    ),
    (
        "a printed exception that was survived",
        completed(epoch(4), *FINISHED, output=printed("KeyError: 'lr'")),
        "completed_normally",
    ),
    (
        "a printed exception before kill -9",
        failed(killed(), output=printed("KeyError: 'lr'")),
        "killed_from_outside",
    ),
    (
        "benign noise of TensorFlow",
        completed(
            *FINISHED,
            output="W local_rendezvous.cc:404] Local rendezvous is aborting with status: "
            "OUT_OF_RANGE: End of sequence\nUnable to register cuDNN factory\n",
        ),
        "completed_normally",
    ),
    (
        "a callback without the argument that Keras passes",
        failed(
            raised("TypeError", "<lambda>() got an unexpected keyword argument 'logs'"), exited(1)
        ),
        "callback_error",
    ),
    (
        "a file that numpy saves, and not one that it reads",
        failed(
            raised(
                "OSError",
                "Not enough free space to write 72000000 bytes after offset 128",
                traceback='  File "train.py", line 8, in <module>\n    np.save("f.npy", x)\n'
                '  File "/usr/lib/python3/site-packages/numpy/lib/_format_impl.py", line 9, in w\n',
            ),
            exited(1),
        ),
        "disk_full",
    ),
    (
        "a full folder for temporary files is no missing input",
        failed(
            raised(
                "FileNotFoundError",
                "[Errno 2] No usable temporary directory found in ['/tmp', '/var/tmp']",
                "OSError Exception",
            ),
            exited(1),
        ),
        "disk_full",
    ),
    (
        "a wrong TF_CONFIG is no file",
        failed(
            raised(
                "json.decoder.JSONDecodeError",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
                "ValueError",
                traceback='  File "train.py", line 8, in <module>\n    s = Strategy()\n'
                '  File "/site-packages/tensorflow/python/distribute/cluster_resolver/'
                'tfconfig_cluster_resolver.py", line 9, in _load\n    return json.loads(x)\n',
            ),
            exited(1),
        ),
        "user_code_error",
    ),
    (
        "the script's own watchdog",
        failed(
            exited(1),
            output="Timeout (0:00:12)!\nThread 0x7f (most recent call first):\n"
            '  File "/usr/lib/python3.11/queue.py", line 171 in get\n'
            '  File "/app/train.py", line 10 in on_epoch_end\n',
        ),
        "hang_or_stall",
    ),
    (
        "a service that asks to slow down",
        failed(raised("HTTPError", "HTTP Error 503: SlowDown"), exited(1)),
        "network_or_download_failure",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_file_line_and_place_are_named() -> None:
    finding = finding_of(failed(raised("ValueError", "bad\nsecond line"), exited(1)))
    assert finding.summary == "The script failed at step 47 (epoch 3, batch 7): ValueError: bad"
    assert finding.evidence[0].text == "ValueError: bad\nsecond line"
    assert "train.py:42 in main()" in finding.advice[0]


def test_the_limit_that_was_hit_is_shown_with_its_value() -> None:
    evidence = finding_of(os_error(24, "Too many open files")).evidence
    assert "open_files: soft 256, hard 4096" in [item.text for item in evidence]


def test_the_hint_about_oom_is_not_in_the_headline() -> None:
    finding = finding_of(tf_error("ResourceExhaustedError", f"a; Too many open files {OOM_HINT}"))
    assert "OOM" not in finding.summary


@pytest.mark.parametrize("before", ["", "except Exception as error: "])
def test_an_exception_raised_from_another_has_its_cause(before: str) -> None:
    told = f"""Traceback (most recent call last):
  File "train.py", line 5, in augment
    return np.ones((60000, 60000, 300))
MemoryError: Unable to allocate 7.86 TiB for an array with shape (60000, 60000, 300)

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "train.py", line 42, in main
    {before}raise RuntimeError("augmentation failed") from error
RuntimeError: augmentation failed
"""
    event = raised("RuntimeError", "augmentation failed", "Exception", traceback=told)
    finding = finding_of(failed(event))
    assert finding.cause == "host_alloc_failure"
    assert "MemoryError: Unable to allocate 7.86 TiB" in finding.summary
    assert "RuntimeError: augmentation failed" in finding.evidence[0].text


def test_a_failure_after_training_says_so() -> None:
    behind = replace(raised("KeyError", "'accuracy'"), phase="between_fits")
    assert finding_of(failed(fit_ended(), behind, exited(1))).summary == (
        "The script failed after training (step 47): KeyError: 'accuracy'"
    )


def test_a_loop_that_an_exception_leaves_has_ended_but_not_before_it() -> None:
    inside = replace(raised("KeyError", "'accuracy'"), phase="train")
    assert finding_of(failed(fit_ended(), inside, exited(1))).summary == (
        "The script failed at step 47 (epoch 3, batch 7): KeyError: 'accuracy'"
    )


@pytest.mark.parametrize(
    "said",
    [
        "can't open file '/app/trian.py': [Errno 2] No such file or directory",
        "can't find '__main__' module in '/app'",
    ],
)
def test_a_script_that_is_not_there_is_told_from_one_that_gives_up(said: str) -> None:
    python = f"/usr/bin/python3: {said}\n"
    absent = finding_of(attempt_of(STARTED, exited(2), output=python, state="failed"))
    assert absent.summary == f"Python found no script to run: {said}"
    assert absent.advice[0].startswith("Fix the path after `--`")
    ran = finding_of(failed(exited(2), output=python))
    assert "ended itself with exit code 2" in ran.summary


def test_a_refused_resume_says_what_pitstop_said() -> None:
    refusal = Notice("resume_refused", "The model changed.", "Undo the change.")
    finding = finding_of(failed(refusal, exited(2)))
    assert finding.summary == "The run was not resumed. The model changed."
    assert finding.advice[0] == "Undo the change."


def test_an_interrupt_that_the_script_raised_itself_is_no_signal() -> None:
    own = finding_of(failed(raised("KeyboardInterrupt", "q was pressed"), exited(130)))
    assert own.cause == "user_interrupt"
    assert "nobody sent a signal" in own.summary
    assert "train.py:42 in main()" in own.advice[0]
    sent = finding_of(failed(raised("KeyboardInterrupt"), exited(130)))
    assert "SIGINT" in sent.summary


def test_an_announced_reason_is_in_the_headline() -> None:
    message = "A total of 2 objects could not be loaded. Example error message for a:\n\nThe shape"
    assert finding_of(failed(raised("ValueError", message), exited(1))).summary.endswith(
        "The shape"
    )


@pytest.mark.parametrize(("class_name", "is_told"), [("DataLossError", True), ("KeyError", False)])
def test_a_record_that_tf_data_cannot_read_may_be_skipped(class_name: str, is_told: bool) -> None:
    message = "corrupted record at 270000\n\t [[{{node IteratorGetNext}}]]"
    advice = finding_of(failed(raised(class_name, message), exited(1))).advice
    assert any("--on-bad-record skip" in line for line in advice) is is_told


@pytest.mark.parametrize(
    ("adapter", "said", "is_told"),
    [
        ("PyDatasetAdapter", "KeyError: 'label'", True),
        ("PyDatasetAdapter", "zipfile.BadZipFile: File is not a zip file", True),
        ("PyDatasetAdapter", "OSError: image file is truncated (7 bytes not processed)", True),
        ("PyDatasetAdapter", "OSError: [Errno 5] Input/output error: 'a.jpg'", False),
        ("PyDatasetAdapter", "NameError: name 'x' is not defined", False),
        ("PyDatasetAdapter", "AttributeError: 'Data' object has no attribute 'x'", False),
        ("TFDatasetAdapter", "KeyError: 'label'", False),
        ("GeneratorDataAdapter", "KeyError: 'label'", False),
    ],
)
def test_a_record_that_a_sequence_cannot_read_may_be_skipped(
    adapter: str, said: str, is_told: bool
) -> None:
    message = f"Graph execution error:\n\n{said}\nTraceback:\n\n\t [[{{{{node PyFunc}}}}]]"
    told = raised("UnknownError", f"{message}\n\t [[IteratorGetNext]]")
    began = FitStarted(0, 1, 10, {"adapter": adapter})
    advice = finding_of(failed(began, told, exited(1))).advice
    assert any("--on-bad-record skip" in line for line in advice) is is_told


def test_nothing_is_skipped_of_a_generator_of_the_script() -> None:
    message = "ValueError: bad\n\t [[{{node PyFunc}}]]\n\t [[IteratorGetNext]]"
    began = FitStarted(0, 1, 10, {"adapter": "GeneratorDataAdapter"})
    told = raised("InvalidArgumentError", message)
    advice = finding_of(failed(began, told, exited(1))).advice
    assert not any("--on-bad-record skip" in line for line in advice)


def test_a_program_that_is_not_installed_is_no_missing_input() -> None:
    lost = "FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'"
    told = (
        f"{lost}\nTraceback (most recent call last):\n\n"
        '  File "train.py", line 3, in clip\n    subprocess.run(["ffmpeg"])\n'
        '  File "/usr/lib/python3.11/subprocess.py", line 1950, in _execute_child\n'
        f"    raise child_exception_type(errno_num)\n{lost}\n"
    )
    finding = finding_of(tf_error("UnknownError", told))
    assert finding.cause == "dependency_or_import_error"
    assert "PATH" in finding.advice[0]


def test_a_command_that_hides_the_failure_is_told_how_to_pass_it_on() -> None:
    finding = finding_of(failed(raised("KeyError", "'lr'"), exited(0)))
    assert finding.cause == "user_code_error"
    assert any("pipefail" in line for line in finding.advice)


def test_the_watchdog_of_a_script_names_the_line_where_it_stood() -> None:
    evidence = next(each for name, each, _ in CASES if name == "the script's own watchdog")
    assert "/app/train.py:10 in on_epoch_end()" in finding_of(evidence).summary


def test_the_line_that_tells_is_in_the_headline() -> None:
    told = (
        "<class 'keras.Sequential'> could not be deserialized properly.\n\nconfig={...}.\n\n"
        "Exception encountered: Could not locate class 'Mine'. Make sure"
    )
    assert "Could not locate class 'Mine'" in finding_of(failed(raised("TypeError", told))).summary
    in_map = (
        "Error in user-defined function passed to MapDataset:2 transformation with iterator: "
        "Iterator::Root::ParallelMapV2: Feature: label is required but could not be found."
    )
    assert finding_of(tf_error("InvalidArgumentError", in_map)).summary.endswith(
        "InvalidArgumentError: Feature: label is required but could not be found."
    )


def test_weights_that_do_not_fit_are_told_by_their_shapes_not_their_numbers() -> None:
    rows = "\n".join(f"  {n / 7:.8f} -0.20112999  0.29816988" for n in range(40))
    message = (
        "A total of 2 objects could not be loaded. Example error message for object <Dense "
        "name=dense_2, built=True>:\n\nThe shape of the target variable and the shape of the "
        "target value in `variable.assign(value)` must match. variable.shape=(16, 32), Received: "
        f"value.shape=(16, 64). Target variable: <Variable path=dense, value=[[0.1 0.2\n{rows}]]>"
    )
    finding = finding_of(failed(raised("ValueError", message)))
    assert "name=dense_2, built=True>: The shape of the target" in finding.summary
    assert "value.shape=(16, 64)" in finding.evidence[0].text
    assert "0.29816988" not in finding.evidence[0].text


def test_a_saved_model_that_is_not_there_is_not_damaged() -> None:
    message = "File not found: filepath=best.keras. Please ensure the file is an accessible file."
    finding = finding_of(failed(raised("ValueError", message)))
    assert finding.cause == "checkpoint_corrupt_or_mismatch"
    assert "not there" in finding.summary
    assert "damaged" not in finding.summary


def test_long_lines_of_a_message_are_cut_in_the_evidence() -> None:
    finding = finding_of(failed(raised("ValueError", f"bad\nconfig={'x' * 2000}"), exited(1)))
    assert len(finding.evidence[0].text) < 400


def test_both_limits_of_memory_are_shown() -> None:
    limits = {"data_bytes": {"soft": 4000, "hard": 4000}}
    finding = finding_of(failed(raised("MemoryError"), exited(1, limits=limits)))
    assert "data_bytes: soft 4000, hard 4000" in [item.text for item in finding.evidence]


def test_a_command_that_fails_after_its_script_is_told_from_the_script() -> None:
    other = replace(STARTED, trainer_pid=4000)
    evidence = attempt_of(
        other, CONNECTED, fit_ended(), ScriptEnded(100), exited(5), state="failed"
    )
    assert "the command around it returned exit code 5" in finding_of(evidence).summary
    own = failed(fit_ended(), ScriptEnded(100), exited(5))
    assert "The script ended itself with exit code 5" in finding_of(own).summary


def test_notes_of_tensorflow_are_no_last_words() -> None:
    note = "I0000 00:00:1795704626.084010   26632 port.cc:153] oneDNN custom operations are on.\n"
    seen = finding_of(failed(exited(1), output=f"giving up\n{note}")).evidence
    assert ("output", "giving up") in [(item.source, item.text) for item in seen]


def test_a_thread_that_failed_before_is_told() -> None:
    thread = ThreadFailed("reader", "ValueError", "bad row 7", "/app/rows.py", 12, "read")
    finding = finding_of(failed(thread, raised("_queue.Empty")))
    assert any("reader had ended with ValueError: bad row 7" in e.text for e in finding.evidence)
    assert any("why a thread of the script had failed" in line for line in finding.advice)


def test_an_error_without_a_message_is_not_told_by_the_head_of_its_traceback() -> None:
    frames = '  File "/app/rows.py", line 4, in rows\n    queue.get()\n'
    message = f"Empty: \nTraceback (most recent call last):\n\n{frames}\n_queue.Empty"
    summary = finding_of(failed(raised("UnknownError", message))).summary
    assert "Traceback" not in summary
    assert "UnknownError: Empty: _queue.Empty" in summary


def test_whoever_read_the_output_of_a_callback_of_keras_ended_first() -> None:
    gone = raised("BrokenPipeError", "[Errno 32] Broken pipe", "ConnectionError OSError")
    finding = finding_of(failed(replace(gone, callback="ProgbarLogger")))
    assert finding.cause == "user_code_error"
    assert finding.summary.startswith("The program that read its output ended first")


def test_what_a_callback_cannot_print_is_a_matter_of_the_encoding() -> None:
    said = "'ascii' codec can't encode character '\\xfc' in position 9: ordinal not in range(128)"
    error = raised("UnicodeEncodeError", said, "ValueError", callback="Say")
    finding = finding_of(failed(error, exited(1)))
    assert finding.cause == "user_code_error"
    assert "PYTHONUTF8" in finding.advice[0]
