"""Advice with the numbers that stand in a log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pitstop.diagnosis import phrases
from pitstop.diagnosis.log.clues import Clue
from pitstop.diagnosis.log.log import Log

_SHAPE = re.compile(
    r"shape ?\[(?P<shape>[\d, ]+)\](?: and type (?P<type>\w+))?"
    r"|with shape \((?P<numpy>[\d, ]+)\) and data type (?P<dtype>\w+)"
)
_ITEM_BYTES = {
    "float": 4, "float32": 4, "int32": 4, "double": 8, "float64": 8, "int64": 8, "half": 2,
    "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1,
}  # fmt: skip
_TORCH = re.compile(
    r"Tried to allocate (?P<asked>[\d.]+ \w+).*?(?P<total>[\d.]+ \w+) total capacity"
    r"|Tried to allocate (?P<asked2>[\d.]+ \w+)\. GPU \d+ has a total capacity of "
    r"(?P<total2>[\d.]+ \w+) of which (?P<free2>[\d.]+ \w+) is free",
    re.DOTALL,
)
_REQUESTED = re.compile(r"(?:allocat\w+|request\w*)[^\d\n]{0,40}(?P<bytes>\d{7,})[ b]")
_NEEDED = re.compile(r"in this case, (?P<batches>\d+) batches")
_MODULE = re.compile(r"No module named '?(?P<module>[\w.]+)")
_HUGE_BYTES = 1e12
_MEMORY = ("gpu_oom", "host_alloc_failure")


def by_numbers(log: Log, clue: Clue) -> tuple[str, ...]:
    text = clue.raised.message if clue.raised else clue.quote
    if clue.cause in _MEMORY:
        return tuple(about_memory(text))
    if clue.cause == "dataset_exhausted":
        return tuple(_batches(log))
    if clue.cause == "dependency_or_import_error":
        found = _MODULE.search(text)
        package = found["module"].partition(".")[0] if found else ""
        return (f"Try `python -m pip install {package}`; its name may differ.",) if found else ()
    return ()


def about_memory(text: str, batch_size: int | None = None) -> Iterator[str]:
    shape = _SHAPE.search(text)
    if shape:
        yield from _of_shape(shape, batch_size)
    torch = _TORCH.search(text)
    if torch:
        asked = torch["asked"] or torch["asked2"]
        total = torch["total"] or torch["total2"]
        free = f", {torch['free2']} of it free" if torch["free2"] else ""
        yield f"{asked} more was requested; the GPU has {total}{free}."
    requested = None if shape or torch else _REQUESTED.search(text)
    if requested:
        yield f"{phrases.size(int(requested['bytes']))} were requested at once."


def _of_shape(shape: re.Match[str], batch_size: int | None) -> Iterator[str]:
    dims = [int(dim) for dim in re.findall(r"\d+", shape["shape"] or shape["numpy"])]
    item = _ITEM_BYTES.get(shape["type"] or shape["dtype"] or "", 4)
    size_bytes = math.prod(dims) * item
    words = "x".join(map(str, dims))
    if size_bytes > _HUGE_BYTES:
        yield f"A tensor of {words} takes {phrases.size(size_bytes)}: that shape must be a mistake."
        return
    yield f"One tensor of {words} takes {phrases.size(size_bytes)}."
    is_batch = batch_size == dims[0] or (batch_size is None and not shape["numpy"])
    if len(dims) > 1 and dims[0] > 1 and is_batch:
        if_batch = f"batch_size is {batch_size}:" if batch_size else f"If {dims[0]} is the batch,"
        yield (f"{if_batch} a batch of {dims[0] // 2} needs {phrases.size(size_bytes // 2)} there.")


def _batches(log: Log) -> Iterator[str]:
    needed = _NEEDED.search(log.text)
    if needed:
        yield f"The input must provide {needed['batches']} batches in total."
    totals = [each for each in log.progress if each.total]
    short = [each for each in totals if each.done and each.done < (each.total or 0)]
    if short and totals and short[-1] is totals[-1]:
        last = short[-1]
        yield f"steps_per_epoch={last.total}, but the data ended after {last.done} batches."
