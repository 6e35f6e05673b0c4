"""One task of a cluster, in a network of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tests.integration.keras_run import KerasRun, Started
from tests.integration.supervisor import launch


@dataclass(frozen=True)
class Member(KerasRun):
    """One task; its supervisor runs in the network as well."""

    network: tuple[str, ...] = ()

    def start(self, *more: str) -> Started:
        return launch.start(self.folder, *self.words(*more), before=self.network, **self.variables)
