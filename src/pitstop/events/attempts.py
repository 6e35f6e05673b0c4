"""The run and its attempts; written by the supervisor."""

from dataclasses import field

from pitstop.events.base import Event, JsonValue


class AttemptStarted(Event):
    """The supervisor started the command for the n-th time."""

    attempt: int
    command: list[str]
    supervisor_pid: int
    trainer_pid: int
    host: str
    environment: dict[str, JsonValue] = field(default_factory=dict)
    cgroup: str = ""
    start_from: str = ""  # saved weights that a new run begins with, or empty
    launched: bool = True  # by `pitstop run`; else the script has started its supervisor
    prepared: bool = False  # its process had imported the libraries before the attempt
    started_seconds: float = 0.0  # before its process began; 0 in journals of older versions


class ResumeChosen(Event):
    """The checkpoint this attempt starts from; none is chosen on a fresh start."""

    step: int
    epoch: int
    checkpoint: str
    level: str
    in_fit: bool = False  # it is of a `fit` that has not ended


class EnvironmentChanged(Event):
    """Something differs from the attempt that wrote the checkpoint."""

    what: str
    before: str
    now: str
    changes_bits: bool


class StopRequested(Event):
    """Somebody asked the run to stop."""

    # "signal", "command" (pitstop stop), "cluster" (another member), "file" (RUN/stop),
    # "script" by pitstop.request_stop, "condition" (--stop-when), "nan" (--on-nan), "time_limit",
    # "preemption" (the cloud takes the machine away), "pressure" (--on-pressure stop),
    # "setting" (a step that was set), or "supervisor_lost"
    source: str
    urgency: str  # "graceful" (finish the step) or "now" (last snapshot)
    signal: str = ""
    sender_pid: int | None = None
    sender_uid: int | None = None
    sender_command: str = ""
    from_terminal: bool = False
    reason: str = ""  # in the words of who asked; of a time limit, what was left of it
    seconds_left: float | None = None  # until the run is ended by force; None when not known


class StopDeadlinePassed(Event):
    """The trainer did not reach a step boundary in time and is ended."""

    waited_seconds: float
    phase: str
    reason: str


class TrainerExited(Event):
    """How the trainer's process ended, and what the machine says about it."""

    exit_code: int | None  # the code it returned, None when a signal ended it
    signal: str  # name of that signal ("SIGKILL"), empty otherwise
    step: int
    epoch: int
    step_in_epoch: int
    phase: str
    seconds_since_boundary: float | None
    max_rss_bytes: int | None = None
    cpu_seconds: float | None = None
    oom_kills: int | None = None  # memory kills in the trainer's cgroup; None when not observable
    memory_limit_bytes: int | None = None
    kernel_lines: list[str] | None = None  # about its process or cgroup; None if unreadable
    limits: dict[str, JsonValue] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)  # what could not be observed, one phrase each
    memory_watchers: list[str] = field(default_factory=list)  # programs like earlyoom
    kernel_faults: list[str] | None = None  # crashes of any process; None if not logged
    kernel_fault_ages_seconds: list[float] | None = None  # at the end, at least


class AttemptEnded(Event):
    """The end of an attempt.  state: "completed", "stopped" or "failed"."""

    attempt: int
    state: str
    exit_code: int
    step: int
    checkpoint_step: int | None


class Notice(Event):
    """Something the user should know; training goes on."""

    code: str
    message: str
    remedy: str = ""


class JobSeen(Event):
    """The attempt runs inside of a job."""

    scheduler: str  # "slurm", "kubernetes", "lsf", "pbs", "sge" or "colab"
    job: str  # its number or name
    ends_at_seconds: float | None = None  # seconds since the epoch; None when not known
    facts: dict[str, str] = field(default_factory=dict)  # what the environment tells of it, by name


class JobState(Event):
    """What the scheduler says of the job, asked when the command had ended."""

    scheduler: str
    job: str
    state: str = ""  # in its own words ("TIMEOUT", "CANCELLED by 1000"); empty when it did not tell
    reason: str = ""  # why, in its own words
    asked: list[str] = field(default_factory=list)  # the commands that were asked
    problem: str = ""  # why they did not answer
