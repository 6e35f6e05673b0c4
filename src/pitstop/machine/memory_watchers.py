"""Programs that end processes for memory before the kernel does, which counts no such end."""

from __future__ import annotations

from pathlib import Path

from pitstop.machine.kernel_file import read_text

WATCHERS = frozenset(
    {"earlyoom", "systemd-oomd", "oomd", "nohang", "bustd", "low-memory-monitor", "psi-monitor"}
)
_NAME_CHARACTERS = 15
"""What the kernel keeps of a name."""


def running(proc: Path = Path("/proc")) -> list[str]:
    """Names of the memory watchers that run now, each once."""
    short = {name[:_NAME_CHARACTERS]: name for name in WATCHERS}
    names = {short.get(read_text(folder / "comm").strip()) for folder in proc.glob("[0-9]*")}
    return sorted(name for name in names if name)
