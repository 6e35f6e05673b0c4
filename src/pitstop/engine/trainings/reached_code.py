"""The code that a training or a cell runs: what its names lead to among what the user defines."""

import functools
import hashlib
import inspect
import itertools
import os
import re
import sys
import types
from collections.abc import Collection, Iterable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any

from pitstop.engine.script_state.holder import called_for, fields_of, is_plain_object
from pitstop.engine.values.code_names import codes_in, names_in
from pitstop.engine.values.described import (
    builtin_of,
    code_digest,
    describe,
    digest_of_text,
    is_plain,
    is_reproducible,
    plain_attributes,
)
from pitstop.engine.values.reachable import cells_of, names_of, references, user_modules

_MAIN = "__main__"
_ENVIRONMENT = frozenset({"environ", "getenv"})
_OF_THE_JOB = ("SLURM", "PBS_", "LSB_", "KUBERNETES_", "HOSTNAME", "TF_CONFIG", "PITSTOP_")
"""Begins of names of variables that say where, or for how many times, this process runs."""
_FRACTION = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?$")
_CALLED = (types.FunctionType, types.MethodType, functools.partial)
_MOST_MEMBERS = 256
_MOST_DEPTH = 4
_FRAMEWORKS = ("keras.", "tf_keras.", "tensorflow.")
"""The content of their objects is compared elsewhere: a training changes it."""


def digest_of_reached(roots: Iterable[Any]) -> tuple[str, dict[str, str]]:
    """Digest of the code that these lead to; digests of the environment variables that it reads."""
    walk = _Walk(whole_modules=False)
    for root in roots:
        walk.reach(getattr(root, "__name__", type(root).__name__), root)
        for name, each in fields_of(root).items():
            # Also of a library's object, such as a callback that is made of functions.
            if isinstance(each, _CALLED):
                walk.reach_members(name, each)
    variables = {name: digest_of_text(each) for name, each in sorted(walk.variables.items())}
    words = [f"{name} {each}" for name, each in (walk.digests | variables).items()]
    return digest_of_text(*words), variables


def digests_of_code(codes: Collection[types.CodeType], roots: Iterable[Any]) -> dict[str, str]:
    """By name: of what the code of a cell (or the notebook) and the `roots` reach."""
    walk, names = _Walk(whole_modules=True), names_of(sys.modules[_MAIN])
    for code in codes:
        walk.follow_names(code, names)
    for name, each in names.items() if not codes else ():
        walk.reach(name, each)
    for root in roots:
        walk.reach(getattr(root, "__name__", type(root).__name__), root)
    return walk.digests


class _Walk:
    def __init__(self, *, whole_modules: bool) -> None:
        self.digests: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self._whole_modules = whole_modules
        self._modules = user_modules()
        self._seen: list[Any] = []

    def follow_names(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        for inner in codes_in(code):
            for name in inner.co_names:
                if name in names:
                    self.reach_members(name, names[name])
                    if isinstance(names[name], types.ModuleType):
                        self._reach_named(inner, names[name])

    def reach(self, name: str, value: Any) -> None:
        value = inspect.unwrap(value) if callable(value) else value
        if any(value is each for each in self._seen):
            return
        if isinstance(value, types.ModuleType):
            self._reach_module(value)
        elif isinstance(value, types.GeneratorType):
            self._seen.append(value)
            frame = value.gi_frame
            place = describe(frame.f_locals) if frame else ""
            line = frame.f_lasti if frame else -1
            names = frame.f_globals if frame else {}
            self._add(name, f"{code_digest(value.gi_code)} {line} {place}")
            self._add_plain(name, value.gi_code, names)
            self.follow_names(value.gi_code, names)
        elif isinstance(value, types.FunctionType):
            self._reach_function(name, value)
        elif isinstance(value, _CALLED):
            self._seen.append(value)
            self._add(name, describe(_plain_in(value)))
            for inner, each in references(name, value, self._modules, is_open=False):
                self.reach_members(inner, each)
        elif isinstance(value, type):
            self._reach_class(value)
        elif type(value).__module__ in self._modules or is_plain_object(type(value)):
            self._reach_instance(name, value)

    def _reach_instance(self, name: str, value: Any) -> None:
        self._seen.append(value)
        if not any(base.__module__.startswith(_FRAMEWORKS) for base in type(value).__mro__):
            self._add(name, describe(plain_attributes(value)))
        self._reach_class(type(value))
        if not self._whole_modules:
            for key, each in fields_of(value).items():
                self.reach_members(f"{name}.{key}", each)

    def reach_members(self, name: str, value: Any, depth: int = _MOST_DEPTH) -> None:
        try:
            # By the methods of the builtin: those of the script may count, or load what is missing.
            values = dict.values if builtin_of(value) is dict else methodcaller("values")
            members = list(values(value)) if isinstance(value, dict) else value
            if not isinstance(members, list | tuple | types.ModuleType):
                self.reach(name, members)
        except Exception as error:  # noqa: BLE001  objects of the script may do anything
            self._add(name, type(error).__name__)
            return
        if isinstance(members, list | tuple) and depth > 0:
            base: Any = builtin_of(members) or type(members)
            for each in itertools.islice(base.__iter__(members), _MOST_MEMBERS):
                self.reach_members(name, each, depth - 1)

    def _reach_named(self, code: types.CodeType, module: types.ModuleType) -> None:
        if module.__name__ in self._modules and not self._whole_modules:
            self._add_plain(module.__name__, code, vars(module))
            for name in sorted({*code.co_names} & vars(module).keys()):
                if not isinstance(vars(module)[name], types.ModuleType):
                    self.reach(name, vars(module)[name])

    def _reach_module(self, module: types.ModuleType) -> None:
        file = vars(module).get("__file__")
        if module.__name__ not in self._modules or not file or not self._whole_modules:
            return
        self._seen.append(module)
        # Each time anew: the module may have been edited and loaded again.
        content = Path(file).read_bytes() if Path(file).exists() else b""
        self._add(module.__name__, hashlib.blake2b(content, digest_size=8).hexdigest())
        for name, each in vars(module).items():
            if isinstance(each, types.ModuleType | types.FunctionType | type):
                self.reach(name, each)

    def _reach_function(self, name: str, function: types.FunctionType) -> None:
        if function.__module__ not in self._modules:
            return
        self._seen.append(function)
        self._add(name, f"{describe(function)} {code_digest(function.__code__)}")
        self._add_plain(name, function.__code__, function.__globals__)
        self.follow_names(function.__code__, function.__globals__)
        for each in cells_of(function).values():
            self.reach_members(name, each)
        self._reach_module(sys.modules[function.__module__])

    def _reach_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if base.__module__ in self._modules and not any(base is each for each in self._seen):
                self._seen.append(base)
                for name, attribute in list(vars(base).items()):
                    if not name.startswith("__"):
                        self._add(base.__name__, f"{name} {describe(_plain_in(attribute))}")
                    for each in called_for(attribute):
                        self.reach_members(f"{base.__name__}.{name}", each)

    def _add_plain(self, name: str, code: types.CodeType, names: Mapping[str, Any]) -> None:
        inside = names_in(code)
        outside = (each for each in sorted(inside) if each in names and each not in _ENVIRONMENT)
        self._add(name, describe({each: _plain_in(names[each]) for each in outside}))
        if not _ENVIRONMENT.isdisjoint(inside):
            texts = {
                each for part in codes_in(code) for each in part.co_consts if type(each) is str
            }
            told = (key for key in texts & os.environ.keys() if not key.startswith(_OF_THE_JOB))
            read = {key: os.environ[key] for key in told}
            # Folders and numbers of jobs change with each attempt.
            same = (key for key in read if _FRACTION.match(read[key]) or is_reproducible(read[key]))
            self.variables |= {key: read[key] for key in same}

    def _add(self, name: str, text: str) -> None:
        # Two of one name are one entry: names repeat, and the order is that of the walk.
        self.digests[name] = digest_of_text(self.digests.get(name, ""), text)


def _plain_in(value: Any, depth: int = _MOST_DEPTH) -> Any:
    """What a value says in plain ones: of a collection its members, of a function its code."""
    if is_plain(value):
        return value if is_reproducible(value) else None
    if isinstance(value, types.FunctionType):
        return f"{value.__name__} {code_digest(value.__code__)}"
    if isinstance(value, functools.partial):
        value = [value.func, value.args, value.keywords]
    members = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(members, list | tuple) or depth == 0:
        return None
    return [_plain_in(each, depth - 1) for each in members[:_MOST_MEMBERS]]
