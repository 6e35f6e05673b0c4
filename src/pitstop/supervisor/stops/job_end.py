"""When the time of a Slurm job is up: asked of Slurm, where it does not say so by itself."""

from collections.abc import Mapping

from pitstop.observation import schedulers

_PATIENCE_SECONDS = 3.0


def asked_end(environment: Mapping[str, str]) -> str:
    """The value of SLURM_JOB_END_TIME, which versions before 23.02 do not set; empty if unknown.

    Source: %e and SLURM_TIME_FORMAT of squeue(1).
    """
    job = environment.get("SLURM_JOB_ID", "")
    if not job or schedulers.end_seconds(environment) is not None:
        return ""
    import subprocess  # noqa: PLC0415 - each run loads this module

    words = ("squeue", "--noheader", "--jobs", job, "--format", "%e")
    try:
        answer = subprocess.run(
            words,
            env={**environment, "SLURM_TIME_FORMAT": "%s"},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    end = answer.stdout.strip()
    return end if schedulers.end_seconds({schedulers.SLURM_JOB_END: end}) is not None else ""
