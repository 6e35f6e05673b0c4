"""What `pitstop export` does, from the choice of a checkpoint to the renaming of the output."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pitstop.engine.session.export_order import EXPORTED
from pitstop.engine.snapshots.weights_file import Format
from pitstop.errors import EnvironmentFault, UserError
from pitstop.events import Notice
from pitstop.export import host
from pitstop.export.host import Host, Say, Source, choose
from pitstop.link.settings import Settings
from pitstop.record import Frozen
from pitstop.store.disk_fault import explained
from pitstop.store.run_folder import RunFolder

_H5_SUFFIX = ".weights.h5"
_REMEDY = "Fix the script, or use `--to safetensors`, which does not run it."
_SUFFIXES = {
    Format.KERAS: ".keras",
    Format.WEIGHTS_H5: _H5_SUFFIX,
    Format.SAFETENSORS: ".safetensors",
}


def check(path: Path, *, force: bool) -> None:
    """That a path is free and its folder writable; raises `EnvironmentFault` or a `UserError`."""
    if path.exists() and not force:
        raise UserError(f"{path} exists.", "Choose another name, or overwrite it with --force.")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(13, "Permission denied")


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` at the end; raises `EnvironmentFault`."""
    # The suffix says which format Keras writes: the name keeps its end.
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    try:
        with _writing(path):
            yield partial
            replaced = path.with_name(f".replaced-{os.getpid()}-{path.name}")
            if path.exists():
                path.rename(replaced)
            partial.rename(path)
            _remove(replaced)
    finally:
        _remove(partial)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _writing(path: Path) -> contextlib.AbstractContextManager[None]:
    return explained(f"{path} cannot be written", EnvironmentFault)


class ExportRequest(Frozen):
    folder: RunFolder
    format: Format
    out: Path  # where to; absolute, for the script runs in a folder of its own
    checkpoint: str = ""  # name or step of the checkpoint; empty for the newest
    force: bool = False  # replace what is at `out`
    command: tuple[str, ...] = ()  # of the run, with its secrets; needed where it has some


class Exported(Frozen):
    checkpoint: str
    step: int


def write_export(request: ExportRequest, say: Say) -> Exported:
    """Exports a saved state; raises `CheckpointCorrupt`, `EnvironmentFault`, or a `UserError`."""
    request = _with_format_of_suffix(request)
    check(request.out, force=request.force)
    with (
        closing(choose(request.folder, request.checkpoint, say)) as source,
        written(request.out) as partial,
    ):
        if request.format is Format.SAFETENSORS:
            _write_tensors(request.folder, source, partial)
        else:
            _run_script(request, source, partial)
    return Exported(source.name, source.manifest.info.step)


def _with_format_of_suffix(request: ExportRequest) -> ExportRequest:
    """Keras' two formats are told apart by the name's end, and the others must have theirs."""
    form, name = request.format, request.out.name
    if form is Format.KERAS and name.endswith(_H5_SUFFIX):
        form = Format.WEIGHTS_H5
    suffix = _SUFFIXES.get(form, "")
    if not name.endswith(suffix):
        raise UserError(
            f"The name of a {form.value} file must end in {suffix}; {name} does not.",
            f"Name it {name}{suffix}.",
        )
    return replace(request, format=form)


def _write_tensors(folder: RunFolder, source: Source, partial: Path) -> None:
    from pitstop.export import tensors_file

    tensors = tensors_file.tensors_of(source.saved)
    identity = folder.identity.run_id
    metadata = tensors_file.metadata_of(identity, source.name, source.manifest.info, tensors)
    tensors_file.write(partial, tensors, metadata)


def _run_script(request: ExportRequest, source: Source, partial: Path) -> None:
    if "replay" in source.saved.state:
        raise UserError(
            f"Checkpoint {source.name} belongs to a recorded loop, whose models have no names.",
            "Use `--to safetensors`, or name the models in pitstop.start (see docs/loops.md).",
        )
    settings = Settings(export_to=request.format.value, export_path=str(partial))
    script = host.script_of(request.folder, source.manifest.info.attempt, request.command)
    outcome = Host(settings, source).run(script)
    if not any(isinstance(each, Notice) and each.code == EXPORTED for each in outcome.events):
        raise host.failure(outcome, _REMEDY)
