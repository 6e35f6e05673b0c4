"""What `pitstop run` is asked to do, and its result."""

from dataclasses import field
from pathlib import Path

from pitstop.link.settings import Settings
from pitstop.record import Frozen
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.restarts.restarts import RestartPolicy
from pitstop.supervisor.stops.signals import SignalActions

PREEMPTION_CHOICES = ("auto", "none", "gce", "aws", "azure")
"""The cloud that the machine's firmware names, none, or one of `stops.cloud.CLOUDS`."""


class StopPolicy(Frozen):
    preemption: str = "auto"  # one of `PREEMPTION_CHOICES`
    stops_under_pressure: bool = False  # if not, the run is saved and continues
    signals: SignalActions = field(default_factory=dict)
    kill_after_seconds: float | None = None  # from SIGTERM to SIGKILL, 0: none; None: not known


class RunRequest(Frozen):
    """One call of `pitstop run`."""

    run_dir: Path
    command: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
    mirror: str = ""  # URL of its mirror, empty for none
    grace_seconds: float = 30.0  # the longest wait for a boundary after a stop request
    max_seconds: float | None = None  # for the whole call, 0 for no limit; None asks the scheduler
    stop_when: str = ""  # a condition on the metrics, see `stop_condition`; or empty
    stops: StopPolicy = field(default_factory=StopPolicy)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    hang: HangPolicy = field(default_factory=HangPolicy)
    new: bool = False  # put an existing run aside and start over
    status_line: bool = True
    trainer_pid: int = 0  # a process that runs the command already and is to be supervised, else 0
    kernel: bool = False  # that process is a notebook's, and lives on when its training is stopped
    launcher_pid: int = 0  # our parent; its end stops the run; 0 for none


class RunOutcome(Frozen):
    """How a call of `pitstop run` ended; attempt 0: none was needed."""

    state: str
    exit_code: int
    attempt: int
