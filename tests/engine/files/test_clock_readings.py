"""Lines of logs that differ by what a clock says."""

import pytest

from pitstop.engine.files.clock_readings import columns_of, repeated, without_readings


@pytest.mark.parametrize(
    ("earlier", "again"),
    [
        ("2026-11-26 09:19:51,147 INFO start", "2026-12-01 10:00:00,002 INFO start"),
        ("2026-11-26T09:19:51.5Z start", "2026-11-26T09:20:01Z start"),
        ("2026-11-26T09:19:51+00:00 a", "2026-11-26T09:20:51+01:00 a"),
        ("[Thu Nov  5 09:19:51 2026] a", "[Fri Nov 27 10:19:52 2026] a"),
        ("26 Nov 2026 9:05 AM a", "5 December 2026 11:30 PM a"),
        ("26/11/2026 a", "02/12/2026 a"),
        ("model-20261126-091951 saved", "model-20261126-092003 saved"),
        ("step 5, 9.8 ms/step, loss 0.5", "step 5, 12 ms/step, loss 0.5"),
        ("epoch 1 took  9.9s", "epoch 1 took 10.1s"),
        ("1m 30s, 31.5 it/s", "2m 5s, 7 it/s"),
        ('{"epoch": 1, "time": 12.5}', '{"epoch": 1, "time": 3}'),
        ('{"epoch": 1, "elapsed_sec": 12.5}', '{"epoch": 1, "elapsed_sec": 1e-05}'),
        ("elapsed (s): 1.5", "elapsed (s): 20"),
        ("pid 123: a", "pid 99999: a"),
        ("1795681861.153 a", "1795681999.1 a"),
        ("ETA 0:01:05", "ETA 12:31"),
    ],
)
def test_they_repeat_one_another(earlier: str, again: str) -> None:
    a, b = f"{earlier}\n".encode(), f"{again}\n".encode()
    assert repeated(a, b) == (len(a), len(b))


@pytest.mark.parametrize(
    ("earlier", "again"),
    [
        ("10:00:01 loss 0.5", "10:00:01 loss 0.6"),
        ("10:00:01 epoch 1", "10:00:02 epoch 2"),
        ("1,0.5,0.25", "1,0.5,0.26"),
        ("timesteps: 10", "timesteps: 20"),
        ("time_steps=10", "time_steps=20"),
        ("seed 1734567890", "seed 1734567891"),
        ("step 5 saved", "step 6 saved"),
        ("5 samples", "6 samples"),
        ("0.5 mean", "0.6 mean"),
        ("runtime 5s: a", "runtime 5s: b"),
        ("10:00:01 a 10:00:02", "10:00:01 a"),
    ],
)
def test_another_line(earlier: str, again: str) -> None:
    assert repeated(f"{earlier}\n".encode(), f"{again}\n".encode()) == (0, 0)


@pytest.mark.parametrize(
    "header",
    ["epoch,loss,seconds", "epoch;loss;train_time (s)", "epoch\tloss\tElapsed", '"e","l","date"'],
)
def test_a_column_of_times(header: str) -> None:
    separator = {";": ";", "\t": "\t"}.get(header[5], ",")
    rows = [separator.join((*fields, "")) for fields in (("1", "0.5"), ("1", "0.6"))]
    earlier, again, other = f"{rows[0]}9.9\n", f"{rows[0]}10.25\n", f"{rows[1]}9.9\n"
    line = f"{header}\n".encode()
    assert repeated(earlier.encode(), again.encode(), line) == (len(earlier), len(again))
    assert repeated(earlier.encode(), other.encode(), line) == (0, 0)
    assert repeated(earlier.encode(), again.encode()) == (0, 0)


@pytest.mark.parametrize("name", ["timesteps", "time_steps", "loss", "steps", "sometimes", "data"])
def test_a_column_of_something_else(name: str) -> None:
    assert not columns_of(f"epoch,{name}\n".encode())


def test_a_line_without_its_end_is_not_counted() -> None:
    assert repeated(b"9:00 a\n9:01 b\n", b"9:05 a\n9:0") == (7, 7)
    assert repeated(b"9:00 a\n9:0", b"9:05 a\n9:06 b\n") == (7, 7)
    assert repeated(b"9:00 a\n", b"") == (0, 0)


def test_lines_without_a_clock_stay() -> None:
    line = b"epoch 3, loss 0.5, accuracy 1e-3, lr=0.001, batch 17/94, shape (32, 10)"
    assert without_readings(line) == line
