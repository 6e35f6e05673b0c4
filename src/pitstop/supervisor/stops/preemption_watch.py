"""Asks the cloud again and again, in a thread beside the supervisor's loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

from pitstop.events import Notice, StopRequested
from pitstop.supervisor.stops import cloud_notice
from pitstop.supervisor.stops.cloud import (
    CLOUDS,
    Cloud,
    MetadataServer,
    MetadataUnavailable,
    ask,
    detect,
)
from pitstop.supervisor.stops.cloud_notice import PreemptionNotice

ENV_URL = "PITSTOP_METADATA_URL"
"""Environment variable, for tests: asked in the place of the cloud's own address."""

_URL = "http://169.254.169.254"
_PATIENT_FAILURES = 3
_RETRY_SECONDS = 30.0


def pause_seconds(interval_seconds: float, failures: int) -> float:
    if failures < _PATIENT_FAILURES:
        return interval_seconds
    return max(interval_seconds, _RETRY_SECONDS)


class PreemptionWatch:
    """Follows what one cloud says; without a cloud it asks nobody.

    Its thread replaces `_notice` as a whole, and sets `_problem` once for each outage.
    """

    def __init__(self, cloud: Cloud | None, url: str = _URL) -> None:
        self._cloud = cloud
        self._server = MetadataServer(url)
        self._notice: PreemptionNotice | None = None
        self._failures = 0
        self._problem = ""
        self._warned = ""
        self._closing = threading.Event()
        if cloud is not None:
            # A daemon: a question under way holds nobody up.
            threading.Thread(
                target=self._follow, args=(cloud,), name="pitstop-preemption", daemon=True
            ).start()

    @classmethod
    def choose(
        cls, choice: str, environment: Mapping[str, str], root: Path = Path("/")
    ) -> PreemptionWatch:
        """The watch that the user asked for, see `StopPolicy`; `root` holds `sys`."""
        name = detect(root) if choice == "auto" else choice
        cloud = CLOUDS[name]() if name in CLOUDS else None
        return cls(cloud, environment.get(ENV_URL, _URL))

    def request(self) -> StopRequested | None:
        notice = self._notice
        return cloud_notice.request(notice, time.time()) if notice is not None else None

    def take_problem(self) -> Notice | None:
        problem = self._problem
        if not problem or self._cloud is None:
            return None
        self._problem = ""
        return Notice(
            "preemption_unwatched",
            f"Cannot ask {self._cloud.title} for preemption notices: {problem}.",
            "Allow access to the metadata server, or use --preemption none.",
        )

    def take_warning(self) -> Notice | None:
        notice = self._notice
        if notice is None:
            self._warned = ""
            return None
        if notice.reason == self._warned:
            return None
        self._warned = notice.reason
        return cloud_notice.warning(notice, time.time())

    def close(self) -> None:
        self._closing.set()

    def _follow(self, cloud: Cloud) -> None:
        while not self._closing.is_set():
            self._look(cloud)
            self._closing.wait(pause_seconds(cloud.interval_seconds, self._failures))

    def _look(self, cloud: Cloud) -> None:
        try:
            self._notice = ask(cloud, self._server, time.time())
        except MetadataUnavailable as error:
            self._failures += 1
            if self._failures == _PATIENT_FAILURES:
                self._problem = error.message
        else:
            self._failures = 0
