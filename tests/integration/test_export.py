"""`pitstop export` and `pitstop run --from`, with real models and programs without Pitstop."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from pitstop.events import AttemptStarted, Notice, Restored
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


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> ExportedRun:
    """A functional model, stopped in the middle of its second epoch, in all formats of Keras."""
    folder = tmp_path_factory.mktemp("stopped")
    return ExportedRun.of(folder, "functional", "--halt-at-step", str(HALT_STEP))


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


def test_a_finished_run_gives_the_model_as_the_script_had_it(tmp_path: Path) -> None:
    finished = ExportedRun.of(tmp_path, "subclassed")
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
    stopped: ExportedRun, tmp_path: Path
) -> None:
    weights = stopped.export("safetensors", "--force")
    (tmp_path / "whole").mkdir()
    whole = KerasRun(tmp_path / "whole", "exported.py", ("functional",), ("--from", str(weights)))
    assert whole.attempt().returncode == 0
    begun = arrays_in(whole.folder / "begun.npz")
    assert differing(begun, load_file(weights)) == []
    assert whole.last(AttemptStarted).start_from == str(weights)

    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(weights.read_bytes())
    (tmp_path / "halves").mkdir()
    halves = KerasRun(tmp_path / "halves", "exported.py", ("functional",))
    assert halves.attempt("--from", str(copy), "--halt-at-step", "5").returncode == 75
    copy.unlink()
    resumed = halves.attempt()
    assert resumed.returncode == 0, resumed.stderr
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


def test_the_state_of_a_run_wins_over_weights_that_are_named_later(
    stopped: ExportedRun, tmp_path: Path
) -> None:
    weights = stopped.export("safetensors", "--force")
    run = KerasRun(tmp_path, "exported.py", ("functional",))
    assert run.attempt("--halt-at-step", "3").returncode == 75
    ended = run.attempt("--from", str(weights), "--halt-at-step", "4")
    assert b"goes on from its own state" in ended.stderr
    assert run.last(Restored).step == 3


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


def test_the_objects_of_a_loop_are_exported_by_their_names(tmp_path: Path) -> None:
    words = [sys.executable, SCRIPTS / "exported_loop.py"]
    halted = ("--run-dir", "run", "--halt-at-step", "6", "--", *words)
    ended = launch.call(tmp_path, "run", *halted)
    assert ended.returncode == 75, ended.stderr
    for form, name in FILES.items():
        exported = launch.call(tmp_path, "export", "run", name, "--to", form)
        assert exported.returncode == 0, (form, exported.stderr)
    names = set(load_file(tmp_path / FILES["safetensors"]))
    assert {"model/dense/kernel", "optimizer/adam/dense_kernel_momentum", "offset"} <= names
    for form in ("tf_checkpoint", "v1_saver", "safetensors"):
        begun = ("--run-dir", form, "--from", FILES[form], "--halt-at-step", "1", "--", *words)
        ended = launch.call(tmp_path, "run", *begun)
        assert ended.returncode == 75, ended.stderr
        told = json.loads((tmp_path / "begun.json").read_text())
        assert told["offset"] == float(load_file(tmp_path / FILES["safetensors"])["offset"])
