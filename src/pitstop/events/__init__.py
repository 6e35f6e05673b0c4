"""The vocabulary of a run: everything that happens, as frozen values.

The trainer, the supervisor, the persister, the journal, the diagnosis and the
reports all speak in these types.  Field names carry their units; times are
seconds since the epoch, stamped by the journal when the event is written.

This module is imported inside the trainer: standard library only.
"""

from __future__ import annotations

from pitstop.events.attempts import (
    AttemptEnded,
    AttemptStarted,
    EnvironmentChanged,
    JobSeen,
    JobState,
    Notice,
    ResumeChosen,
    StopDeadlinePassed,
    StopRequested,
    TrainerExited,
)
from pitstop.events.base import Event, JsonValue, UnknownEvent, from_record, to_record
from pitstop.events.checkpoints import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointQuarantined,
    CheckpointUploaded,
    NonFiniteWeights,
    ScriptSaved,
    UploadFailed,
    UploadGivenUp,
)
from pitstop.events.clusters import (
    GangBroken,
    GangFormed,
    GangSaved,
    GangStopped,
    LeaderFound,
    MemberEnded,
    MemberJoined,
    MemberReleased,
    MemberRestarted,
    RoleTaken,
)
from pitstop.events.supervision import (
    BatchDivided,
    BuffersReduced,
    DivisionRefused,
    ExhaustionForecast,
    PrecisionReduced,
    RestartCancelled,
    RestartPlanned,
    RestartRefused,
    RollbackRefused,
    RolledBack,
    SpareReady,
    TrainingStalled,
    TrainingWentOn,
    WorkerDied,
)
from pitstop.events.training import (
    LOOPS,
    SIGNALLING,
    BatchSkipped,
    EpochEnded,
    ExceptionRaised,
    ExitCalled,
    FitEnded,
    FitRestored,
    FitStarted,
    InputExhausted,
    InstrumentationUnavailable,
    LevelKnown,
    NonFiniteLocated,
    NonFiniteLoss,
    Restored,
    ScriptEnded,
    StepMemory,
    StopTrainingSet,
    ThreadFailed,
    TrainerConnected,
    TrainerStopped,
)
