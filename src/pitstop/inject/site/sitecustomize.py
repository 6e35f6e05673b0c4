"""Loaded by every Python interpreter under `pitstop run`, before its script.

Hands over to Pitstop, not added to `sys.path`, then to the `sitecustomize` that this one hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))


def _load(spec: importlib.machinery.ModuleSpec | None) -> None:
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _load_pitstop() -> None:
    init = os.path.join(_PACKAGE, "__init__.py")
    _load(
        importlib.util.spec_from_file_location(
            "pitstop", init, submodule_search_locations=[_PACKAGE]
        )
    )


def _load_hidden_sitecustomize() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    _load(importlib.machinery.PathFinder.find_spec("sitecustomize", others))


def _watch_imports() -> None:
    if "pitstop" not in sys.modules:
        _load_pitstop()
    from pitstop.inject import autoload

    watched = {}
    if os.environ.get("PITSTOP_ENTROPY"):
        from pitstop.engine.trackers import trackers
        from pitstop.inject import streams

        watched = streams.watched()
        # An export runs the script outside of an attempt: it is no part of the tracker's run.
        if watched and os.environ.get("PITSTOP_STACKS"):
            watched |= trackers.watched()
    autoload.install(os.environ["PITSTOP_SOCKET"], watched)


def _watch_script() -> None:
    from pitstop.inject import autoload

    if _spare:
        from pitstop.inject import warm_start

        warm_start.wait(_spare)
    autoload.watch_files()
    if os.environ.get("PITSTOP_STACKS"):
        from pitstop.engine.connection import stacks

        stacks.answer_in(os.environ["PITSTOP_STACKS"])


# Tools that the script starts may run on an older Python: those are left alone.
_spare = os.environ.pop("PITSTOP_SPARE", "")
_is_ours = bool(os.environ.get("PITSTOP_SOCKET")) and sys.version_info >= (3, 11)
try:
    if _is_ours:
        _watch_imports()
finally:
    _load_hidden_sitecustomize()
if _is_ours:
    _watch_script()
