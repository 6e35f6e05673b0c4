"""Every error Pitstop raises on purpose, named by who must act.

An error says what happened, where, and what to do about it.  Only the
command line's ``main`` prints errors and picks exit codes; everything below it
raises.
"""

from pathlib import Path


class PitstopError(Exception):
    """Base of all errors that Pitstop raises on purpose."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message  # what happened and where, one sentence
        self.remedy = remedy  # what to do about it, one sentence; empty when nothing helps

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions unpickle by calling the class with `args`, but subclasses
        # have parameters of their own.
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(cls: type[PitstopError], args: tuple[object, ...]) -> PitstopError:
    return cls.__new__(cls, *args)


class UserError(PitstopError):
    """The command, the script or a setting is wrong; the user can mend it."""


class EnvironmentFault(PitstopError):
    """The machine refuses: a disk, a limit, a permission, a missing file."""


class PeerFault(PitstopError):
    """Another process of the run vanished or broke the protocol."""


class InternalFault(PitstopError):
    """An invariant of Pitstop itself does not hold: a bug on our side."""


class CommandNotFound(UserError):
    """There is no such program."""


class CommandNotExecutable(UserError):
    """The program is there and may not be executed."""


class RunFolderInvalid(UserError):
    """The run folder cannot be used as one (a file, another format, a mismatch)."""


class RunInUse(UserError):
    """Another live supervisor owns the run folder."""

    def __init__(self, run_dir: Path, pid: int | None, host: str) -> None:
        owner = f"process {pid} on {host}" if pid else f"a process on {host}"
        super().__init__(
            f"{run_dir} is in use by a live run ({owner}).",
            f"Stop it with `pitstop stop {run_dir}`, or use another --run-dir.",
        )
        self.pid = pid  # process id of the owner on its host, or None when unknown
        self.host = host  # host name of the owner


class RunNotFound(UserError):
    """There is no run at the place the user named."""


class ResumeRefused(UserError):
    """The saved state does not fit the script as it is now."""


class RunFolderUnwritable(EnvironmentFault):
    """The run folder cannot be created or written."""


class FormatTooNew(EnvironmentFault):
    """A file was written by a newer Pitstop than this one."""


class CheckpointCorrupt(EnvironmentFault):
    """A checkpoint does not hold what its manifest promises."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"Checkpoint {path} is damaged: {reason}.",
            "It is set aside, and the checkpoint before it is used.",
        )
        self.path = path  # the checkpoint folder
        self.reason = reason  # the first thing found wrong


class CheckpointWriteFailed(EnvironmentFault):
    """A checkpoint could not be made durable; the ones before it are intact."""


class UnsupportedVersion(EnvironmentFault):
    """An installed Keras or TensorFlow lacks a place that Pitstop hooks into."""


class PeerClosed(PeerFault):
    """The process at the other end of a connection closed it or died."""


class NoAnswer(PeerFault):
    """The process at the other end of a connection is there, and does not answer in time."""


class ProtocolMismatch(PeerFault):
    """Two processes of one run speak different protocol versions."""
