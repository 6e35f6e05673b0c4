"""`pitstop export` and `pitstop run --from`, with real models and programs without Pitstop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from pitstop.events import AttemptStarted, CheckpointCommitted, Notice, Restored
from tests.integration.conftest import Interpreter
from tests.integration.exported_run import (
    FILES,
    ExportedRun,
    arrays_in,
    differing,
    metadata_of,
)
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor import launch

pytestmark = pytest.mark.timeout(240)

HALT_STEP = 11
LOOP = ("--", sys.executable, SCRIPTS / "exported_loop.py")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, forked: Interpreter) -> ExportedRun:
    """A functional model, stopped in the middle of its second epoch, in all formats of Keras."""
    folder = tmp_path_factory.mktemp("stopped")
    return ExportedRun.of(
        folder, "functional", "--halt-at-step", str(HALT_STEP), interpreter=forked
    )


@pytest.mark.fast
def test_a_stopped_run_is_exported_without_being_touched(stopped: ExportedRun) -> None:
    before = stopped.content()
    for form in ("keras", "tf_checkpoint", "safetensors"):
        stopped.export(form)
    assert stopped.content() == before
    saved = stopped.saved()
    assert differing(load_file(stopped.exports / FILES["safetensors"]), saved) == []
    assert metadata_of(stopped.exports / FILES["safetensors"])["step"] == str(HALT_STEP)
    for found in stopped.load("keras", "tf_checkpoint").values():
        assert differing(found, saved) == []
        assert any(name.endswith("_velocity") for name in found)
    assert (stopped.exports / FILES["tf_checkpoint"] / f"ckpt-{HALT_STEP}.index").is_file()


def test_a_finished_run_gives_the_model_as_the_script_had_it(
    tmp_path: Path, forked: Interpreter
) -> None:
    finished = ExportedRun.of(tmp_path, "subclassed", interpreter=forked)
    before = finished.content()
    expected = arrays_in(finished.run.folder / "out.npz")
    for form in ("keras", "saved_model"):
        finished.export(form)
    assert finished.content() == before
    found = finished.load("keras", "saved_model")
    for each in found.values():
        assert each["predictions"].tobytes() == expected["predictions"].tobytes()
    weights = list(found["keras"].values())
    assert [each.tobytes() for each in weights] == [each.tobytes() for each in expected.values()]


def test_a_run_that_began_with_weights_is_resumed_to_the_same_bits(
    stopped: ExportedRun, tmp_path: Path, forked: Interpreter
) -> None:
    weights = stopped.export("safetensors", "--force")
    begins = ("--from", str(weights))
    (tmp_path / "whole").mkdir()
    script = "exported.py", ("functional",)
    whole = KerasRun(tmp_path / "whole", *script, begins, interpreter=forked)
    assert whole.attempt().returncode == 0
    begun = arrays_in(whole.folder / "begun.npz")
    assert differing(begun, load_file(weights)) == []
    assert whole.last(AttemptStarted).start_from == str(weights)

    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(weights.read_bytes())
    (tmp_path / "halves").mkdir()
    halves = KerasRun(tmp_path / "halves", *script, interpreter=forked)
    assert halves.attempt("--from", str(copy), "--halt-at-step", "5").returncode == 75
    copy.unlink()
    resumed = halves.attempt("--from", str(weights))
    assert resumed.returncode == 0, resumed.stderr
    assert b"resumes its own state" in resumed.stderr
    assert halves.last(Restored).level == "exact"
    assert len([each for each in halves.events(Notice) if each.code == "started_from"]) == 1
    expected, found = arrays_in(whole.folder / "out.npz"), arrays_in(halves.folder / "out.npz")
    assert differing(found, expected) == []
    assert found["predictions"].tobytes() == expected["predictions"].tobytes()


def test_weights_of_another_shape_are_refused_by_name(stopped: ExportedRun, tmp_path: Path) -> None:
    weights = stopped.export("safetensors", "--force")
    wider = KerasRun(tmp_path, "exported.py", ("functional", "2", "5"), ("--from", str(weights)))
    ended = wider.attempt()
    assert ended.returncode == 2
    assert b"dense/kernel is float32[3, 5], and float32[3, 4] in it" in ended.stderr
    assert not (tmp_path / "begun.npz").exists()


def test_a_script_that_fails_before_its_fit_is_named_with_its_output(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "exported.py").read_text())
    (tmp_path / "export_models.py").write_text((SCRIPTS / "export_models.py").read_text())
    words = ("--run-dir", "run", "--halt-at-step", "3", "--", sys.executable, "script.py")
    assert launch.call(tmp_path, "run", *words, "functional").returncode == 75
    script.write_text("print('so far')\nraise KeyError('gone')\n")
    ended = launch.call(tmp_path, "export", "run", "model.keras", "--to", "keras")
    assert ended.returncode == 2
    assert b"so far" in ended.stderr
    assert b"gone" in ended.stderr
    assert sorted(path.name for path in tmp_path.glob("*model.keras*")) == []


def test_what_is_there_is_replaced_only_by_force(stopped: ExportedRun) -> None:
    out = stopped.exports / "taken.safetensors"
    out.write_text("precious")
    refused = stopped.run.pitstop("export", str(out), "--to", "safetensors")
    assert refused.returncode == 2
    assert out.read_text() == "precious"
    forced = stopped.run.pitstop("export", str(out), "--to", "safetensors", "--force")
    assert forced.returncode == 0
    assert "dense/kernel" in load_file(out)


def test_a_fit_without_the_launcher_is_exported_as_it_was_run(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / "fit_callback.py"), "out.npz", "run"]
    environment = launch.environment(TF_CPP_MIN_LOG_LEVEL="3")
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=100)
    ended = launch.call(tmp_path, "export", "run", "model.keras", "--to", "keras")
    assert ended.returncode == 0, ended.stderr
    model = keras.models.load_model(tmp_path / "model.keras")
    trained = arrays_in(tmp_path / "out.npz")
    found = {f"sequential/{each.path}": each.numpy() for each in model.weights}
    assert differing(found, trained) == []


def test_a_live_run_is_exported_while_it_trains(tmp_path: Path, forked: Interpreter) -> None:
    options = ("--every", "5steps")
    run = KerasRun(tmp_path, "exported.py", ("functional", "2000"), options, interpreter=forked)
    live = run.start()
    try:
        launch.until(lambda: run.events(CheckpointCommitted))
        ended = run.pitstop("export", "live.keras", "--to", "keras")
        assert ended.returncode == 0, ended.stderr
        assert b"is still running" in ended.stderr
        assert live.poll() is None
    finally:
        run.pitstop("stop")
        launch.finish(live)
    step = int(ended.stdout.split()[-2])
    model = keras.models.load_model(tmp_path / "live.keras")
    assert int(model.optimizer.iterations.numpy()) == step > 0
    assert len(run.events(AttemptStarted)) == 1


@pytest.fixture(scope="module")
def halted_loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop of `pitstop.start` that was stopped; the folder it ran in."""
    folder = tmp_path_factory.mktemp("loop")
    ended = launch.call(folder, "run", "--run-dir", "run", "--halt-at-step", "6", *LOOP)
    assert ended.returncode == 75, ended.stderr
    return folder


def test_the_objects_of_a_loop_are_exported_by_their_names(halted_loop: Path) -> None:
    export_loop(halted_loop, "safetensors")
    export_loop(halted_loop, "tf_checkpoint")
    expected = load_file(halted_loop / FILES["safetensors"])
    assert expected["offset"] == 3.0
    assert "optimizer/adam/sequential_dense_kernel_momentum" in expected
    reader = tf.train.load_checkpoint(str(halted_loop / FILES["tf_checkpoint"]))
    names = [name for name in reader.get_variable_to_shape_map() if name.endswith("_VALUE")]
    found = {reader.get_tensor(name).tobytes() for name in names}
    for name in ("model/sequential/dense/kernel", "optimizer/adam/iteration", "offset"):
        assert expected[name].tobytes() in found
    assert expected["optimizer/adam/sequential_dense_kernel_velocity"].tobytes() in found


def test_a_loop_begins_with_the_objects_of_another(halted_loop: Path) -> None:
    export_loop(halted_loop, "tf_checkpoint")
    begins_with(halted_loop, "tf_checkpoint")


@pytest.mark.torture
@pytest.mark.parametrize("form", ["keras", "weights_h5", "saved_model", "v1_saver", "safetensors"])
def test_a_loop_in_the_other_formats(halted_loop: Path, form: str) -> None:
    export_loop(halted_loop, form)
    if form in ("v1_saver", "safetensors"):
        begins_with(halted_loop, form)


def export_loop(folder: Path, form: str) -> None:
    ended = launch.call(folder, "export", "run", FILES[form], "--to", form, "--force")
    assert ended.returncode == 0, ended.stderr


def begins_with(folder: Path, form: str) -> None:
    options = ("--run-dir", f"from-{form}", "--from", FILES[form], "--halt-at-step", "1")
    ended = launch.call(folder, "run", *options, *LOOP)
    assert ended.returncode == 75, ended.stderr
    assert json.loads((folder / "begun.json").read_text()) == {"offset": 3.0}


@pytest.mark.torture
@pytest.mark.parametrize("model", ["functional", "subclassed", "custom"])
@pytest.mark.parametrize("options", [(), ("--halt-at-step", str(HALT_STEP))])
def test_every_model_in_every_format(model: str, options: tuple[str, ...], tmp_path: Path) -> None:
    exported = ExportedRun.of(tmp_path, model, *options)
    before = exported.content()
    for form in FILES:
        exported.export(form)
    assert exported.content() == before
    found = exported.load(*(form for form in FILES if form != "safetensors"))
    reference = found["tf_checkpoint"]
    assert differing(load_file(exported.exports / FILES["safetensors"]), exported.saved()) == []
    for form, arrays in found.items():
        assert arrays["predictions"].tobytes() == reference["predictions"].tobytes(), form
        if form != "saved_model":
            values = [each.tobytes() for each in arrays.values()]
            assert values == [each.tobytes() for each in reference.values()], form
    if not options:
        expected = arrays_in(exported.run.folder / "out.npz")
        assert [each.tobytes() for each in reference.values()] == [
            each.tobytes() for each in expected.values()
        ]
    for form in FILES:
        folder = tmp_path / f"from-{form}"
        folder.mkdir()
        weights = ("--from", str(exported.exports / FILES[form]), "--halt-at-step", "1")
        begun = KerasRun(folder, "exported.py", (model,), weights)
        ended = begun.attempt()
        assert ended.returncode == 75, ended.stderr
        count = len(load_file(exported.exports / FILES["safetensors"]))
        arrays = arrays_in(folder / "begun.npz")
        assert 0 < len(arrays) <= count
        same = differing(arrays, exported.saved()) == []
        assert same == (form != "saved_model"), form
