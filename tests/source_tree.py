"""The package as its source says it is: modules, their imports, their layers."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Module:
    """One source file of the package."""

    path: Path

    @property
    def name(self) -> str:
        """Dotted name; a package is named without its `__init__`."""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def unit(self) -> str:
        """What the layers are made of: the part after `pitstop.`, empty for the root."""
        return self.name.partition(".")[2].partition(".")[0]

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every module it imports, anywhere in the file; submodules where they exist."""
        return frozenset(name for node in ast.walk(self.tree) for name in self._imported(node))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods, nested ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = self._absolute(node)
            yield from (_deepest(base, alias.name) for alias in node.names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        is_package = self.path.name == "__init__.py"
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + is_package]
        return ".".join([*kept, *filter(None, [node.module])])


def _deepest(base: str, name: str) -> str:
    """`base.name` when that is a module of ours, else `base`."""
    candidate = SOURCE.joinpath(*base.split("."), name)
    exists = candidate.with_suffix(".py").exists() or (candidate / "__init__.py").exists()
    return f"{base}.{name}" if exists else base


def modules() -> list[Module]:
    """All modules of the package, in order of their paths."""
    return [Module(path) for path in sorted(SOURCE.rglob("*.py"))]


def string_constants(module: Module) -> Iterator[str]:
    """All string literals in it."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def members_built(module: Module) -> set[str]:
    """The keys of the dictionaries that its code builds, dotted where they are nested."""
    return set(_members(module.tree))


def _members(node: ast.AST, prefix: str = "") -> Iterator[str]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _member(key, value, prefix)
        return
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield from _member(node.slice, node.value, prefix)
    for child in ast.iter_child_nodes(node):
        yield from _members(child, prefix)


def _member(key: ast.expr | None, value: ast.expr, prefix: str) -> Iterator[str]:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return
    if isinstance(value, ast.Dict):
        yield from _members(value, f"{prefix}{key.value}.")
    else:
        yield f"{prefix}{key.value}"


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def layers() -> list[frozenset[str]]:
    """The units of each layer from the top down, as import-linter is told."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [frozenset(unit.strip() for unit in row.split("|")) for row in rows]


def third_party(module: Module) -> frozenset[str]:
    """Top-level names it imports from outside of the package and the standard library."""
    tops = {name.partition(".")[0] for name in module.imports}
    return frozenset(tops - sys.stdlib_module_names - {"pitstop"})
