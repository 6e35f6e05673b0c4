"""What becomes of snapshots on disk; told by the persister."""

from dataclasses import field

from pitstop.events.base import Event


class CheckpointCommitted(Event):
    """A checkpoint is durable: its manifest and folder are on disk.

    reason: "cadence", "stop", "requested", "best" (`--keep-best`), "pressure" (memory gets short),
        "preemption" (the machine is taken away later), "fit_end", "trainer_lost" or
        "supervisor_lost".
    """

    step: int
    epoch: int
    path: str
    size_bytes: int
    seconds: float
    reason: str
    name: str = ""  # given by the user, or empty
    non_finite: list[str] = field(default_factory=list)  # first weights with NaN or infinities


class ScriptSaved(Event):
    """The script has saved a checkpoint of its own, from which it goes on by itself."""

    step: int  # its global step
    folder: str  # of the script's


class CheckpointFailed(Event):
    """A checkpoint could not be written; the ones before it are intact."""

    step: int
    error: str
    remedy: str


class NonFiniteWeights(Event):
    """The first checkpoint of an attempt whose weights hold NaN or infinite numbers."""

    step: int
    names: list[str]  # of these weights, or of the first of them
    finite_step: int  # of the newest checkpoint without any, -1 where there is none


class CheckpointQuarantined(Event):
    """A damaged checkpoint was set aside; the one before it is used."""

    path: str
    reason: str


class CheckpointUploaded(Event):
    """A checkpoint is whole in the mirror; `size_bytes` were sent for it."""

    step: int
    checkpoint: str
    size_bytes: int
    seconds: float


class UploadFailed(Event):
    """The mirror could not be brought up to date; it is tried again."""

    error: str
    remedy: str
    needs_user: bool  # it will not get better by itself, as with a credential


class UploadGivenUp(Event):
    """The attempt ends and the mirror lacks these; the local folder has them."""

    missing: list[str]  # names of checkpoints, and other files by their paths in the folder
    error: str  # the last failure, or what ended the wait
