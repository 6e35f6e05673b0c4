"""What a walk has found of one object: its kind and its content."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Node:
    # "list", "dict", ..., "array", "table", "iterator", "object", "function", "class", "module",
    # "generator" of random numbers; "library" for attributes of the script on an object of a
    # library's; "elsewhere" for what is saved by other means; "unreadable"
    kind: str
    form: str  # how another one is made: the name of its class
    content: Any  # frozen; fields by name, or items; None while it is not known
    # of a module, the names that code of the script looks for in it, there or not
    named: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()  # and those that it sets as attributes


Nodes = Mapping[str, Node]  # by their names
