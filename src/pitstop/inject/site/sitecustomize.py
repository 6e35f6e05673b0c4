"""Loaded by every Python interpreter under `pitstop run`, before its script.

Hands over to Pitstop without adding anything to `sys.path`, then to the
`sitecustomize` this one hides, if there is one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))


def _load(name, path, search=None):
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=search)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _run_hidden_sitecustomize():
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.origin:
        _load("sitecustomize", spec.origin)


if os.environ.get("PITSTOP_SOCKET"):
    if "pitstop" not in sys.modules:
        _load("pitstop", os.path.join(_PACKAGE, "__init__.py"), [_PACKAGE])
    from pitstop.inject import autoload

    autoload.install(os.environ["PITSTOP_SOCKET"])
_run_hidden_sitecustomize()
