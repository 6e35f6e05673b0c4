"""Clouds are asked again and again, in a thread, whether the machine goes away."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pitstop.errors import EnvironmentFault
from pitstop.events import Notice, StopRequested
from pitstop.machine.kernel_file import read_text
from pitstop.record import Frozen
from pitstop.supervisor.stops import cloud_notice
from pitstop.supervisor.stops.cloud_notice import MalformedNotice, PreemptionNotice

TIMEOUT_SECONDS = 5.0
_MOST_BYTES = 1 << 16
_DMI = "sys/class/dmi/id"
_AZURE_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
"""The chassis of every Azure machine; other Hyper-V machines have other tags."""

_GOOGLE_HEADERS = {"Metadata-Flavor": "Google"}
_AZURE_HEADERS = {"Metadata": "true"}
_AZURE_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_GPUS = Path("/proc/driver/nvidia/gpus")
_TOKEN_SECONDS = 21600
_NOT_FOUND = 404
_UNAUTHORIZED = 401


class MetadataUnavailable(EnvironmentFault):
    """The metadata server does not answer, or not as documented."""


class MetadataAnswer(Frozen):
    """The HTTP status, the text, cut at 64 KiB, and the headers by name in lower case."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


class MetadataServer:
    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc

    def ask(self, path: str, headers: Mapping[str, str], method: str = "GET") -> MetadataAnswer:
        """The answer, whatever its status; `MetadataUnavailable` where there is none."""
        import http.client

        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, headers={**headers, "Connection": "close"})
            response = connection.getresponse()
            body = response.read(_MOST_BYTES).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise MetadataUnavailable(f"{self._address} does not answer ({reason})") from error
        finally:
            connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return MetadataAnswer(response.status, body, found)


class Cloud(ABC):
    """One cloud; questions raise `MetadataUnavailable` where its server does not answer."""

    title: str
    interval_seconds: float  # between two questions

    @abstractmethod
    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None: ...


class GoogleCloud(Cloud):
    """Compute Engine, asked each second: it gives half a minute, or a whole one."""

    title = "Google Compute Engine"
    interval_seconds = 1.0

    def __init__(self, gpus: Path = _GPUS) -> None:
        self._gpus = gpus
        # By question, when the machine ends; None where nothing was announced when last asked.
        self._ends_at_seconds: dict[str, float | None] = {}

    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
        for question in cloud_notice.GOOGLE_QUESTIONS:
            path = question.path
            if not question.announces(_google(server, path)):
                self._ends_at_seconds[path] = None
                continue
            ends_at_seconds = self._ends_at_seconds.get(path)
            if ends_at_seconds is None:
                # An event that was there at our first look may be an hour old.
                whole = path in self._ends_at_seconds and self._gpus.exists()
                ends_at_seconds = now_seconds + (
                    question.gpu_seconds if whole else question.seconds
                )
                self._ends_at_seconds[path] = ends_at_seconds
            return PreemptionNotice(ends_at_seconds, question.reason)
        return None


class AmazonCloud(Cloud):
    """EC2, asked each five seconds as its documentation advises, with a session token."""

    title = "Amazon EC2"
    interval_seconds = 5.0

    def __init__(self) -> None:
        self._token = ""

    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
        answer = self._ask(server)
        if answer.status == _UNAUTHORIZED:
            self._token = ""
            answer = self._ask(server)
        if answer.status == _NOT_FOUND:
            return None
        return cloud_notice.amazon(_body(answer), now_seconds)

    def _ask(self, server: MetadataServer) -> MetadataAnswer:
        if not self._token:
            lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_SECONDS)}
            self._token = _body(server.ask("/latest/api/token", lifetime, "PUT"))
        headers = {"X-aws-ec2-metadata-token": self._token}
        return server.ask("/latest/meta-data/spot/instance-action", headers)


class AzureCloud(Cloud):
    """Azure, asked each second as its documentation advises."""

    title = "Microsoft Azure"
    interval_seconds = 1.0

    def __init__(self) -> None:
        self._own_name = ""

    def notice(self, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
        if not self._own_name:
            path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
            self._own_name = _body(server.ask(path, _AZURE_HEADERS)).strip()
        body = _body(server.ask(_AZURE_EVENTS, _AZURE_HEADERS))
        return cloud_notice.azure(body, self._own_name, now_seconds)


CLOUDS: Mapping[str, Callable[[], Cloud]] = {
    "gce": GoogleCloud,
    "aws": AmazonCloud,
    "azure": AzureCloud,
}
"""By the name that the command line gives them."""


def detect(root: Path = Path("/")) -> str:
    """The name of the cloud that this machine's firmware names, else empty; `root` holds `sys`."""
    if _dmi(root, "product_name").startswith("Google Compute Engine"):
        return "gce"
    makers = _dmi(root, "sys_vendor"), _dmi(root, "bios_vendor"), _dmi(root, "bios_version")
    if "amazon" in " ".join(makers).lower():
        return "aws"
    return "azure" if _dmi(root, "chassis_asset_tag") == _AZURE_ASSET_TAG else ""


def ask(cloud: Cloud, server: MetadataServer, now_seconds: float) -> PreemptionNotice | None:
    """What a cloud says; `MetadataUnavailable` where the answer cannot be read."""
    try:
        return cloud.notice(server, now_seconds)
    except MalformedNotice as error:
        raise MetadataUnavailable(f"its metadata server gave an unknown answer: {error}") from error


def _google(server: MetadataServer, name: str) -> str:
    answer = server.ask(f"/computeMetadata/v1/instance/{name}", _GOOGLE_HEADERS)
    if answer.headers.get("metadata-flavor") != "Google":
        raise MetadataUnavailable("the answer is not from Google's metadata server")
    return _body(answer)


def _body(answer: MetadataAnswer) -> str:
    if answer.status != 200:
        raise MetadataUnavailable(f"its metadata server returned status {answer.status}")
    return answer.body


def _dmi(root: Path, name: str) -> str:
    return read_text(root / _DMI / name).strip()


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
    """Follows the notices of one cloud, if there is one.

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
            # A daemon: a question under way must not delay the exit.
            threading.Thread(
                target=self._follow, args=(cloud,), name="pitstop-preemption", daemon=True
            ).start()

    @classmethod
    def choose(cls, choice: str, environment: Mapping[str, str], root: Path = Path("/")) -> Self:
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
