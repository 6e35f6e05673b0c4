"""Asks the scheduler, when the command has ended, what it knows of the job."""

import os
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from pitstop.events import AttemptEnded, Event, JobState, TrainerExited
from pitstop.machine import own_process
from pitstop.machine.descriptors import readable
from pitstop.observation import schedulers
from pitstop.observation.schedulers import Question
from pitstop.supervisor.processes.process import StandardStreams, spawn

PATIENCE_SECONDS = 2.0
"""How long the end of an attempt waits for an answer; the state is saved in that time."""

_LEAST_SECONDS = 0.1
_MOST_BYTES = 1 << 16


@dataclass
class _Asked:
    question: Question
    pid: int
    fd: int
    output: bytes = b""


class JobWatch:
    """The job of one attempt; `seen` is None outside of one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.seen = schedulers.find(environment)
        self._asked: list[_Asked] = []
        self._asked_at = 0.0

    def heard(self, event: Event) -> JobState | None:
        """The event to record before this one; nothing is asked after a completed training."""
        if isinstance(event, TrainerExited) and event.exit_code != 0:
            self._ask()
        elif isinstance(event, AttemptEnded) and self._asked_at:
            return self._answer()
        return None

    def _ask(self) -> None:
        if self.seen is None or self._asked_at:
            return
        asked = schedulers.questions(self.seen.scheduler, self.seen.job)
        if asked:
            self._asked_at = time.monotonic()
        search_path = self._environment.get("PATH")
        for question in asked:
            program = shutil.which(question.words[0], path=search_path)
            if program is not None:
                self._asked.append(_start(program, question, self._environment))

    def _answer(self) -> JobState | None:
        if self.seen is None:
            return None
        scheduler, job = self.seen.scheduler, self.seen.job
        names = [each.words[0] for each in schedulers.questions(scheduler, job)]
        asked, self._asked = self._asked, []
        if not asked:
            return JobState(scheduler, job, problem=f"no {' or '.join(names)} on this machine")
        _collect(asked, self._asked_at + PATIENCE_SECONDS)
        read = [each.question.read(each.output.decode(errors="replace")) for each in asked]
        found = schedulers.best(read)
        problem = "" if found.state else f"{' and '.join(names)} did not answer"
        commands = [" ".join(each.question.words) for each in asked]
        return JobState(scheduler, job, found.state, found.reason, commands, problem)


def _start(program: str, question: Question, environment: Mapping[str, str]) -> _Asked:
    out, into = os.pipe2(os.O_CLOEXEC)
    quiet = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        pid = spawn(program, question.words, environment, streams=StandardStreams(into, quiet))
    finally:
        os.close(into)
        os.close(quiet)
    return _Asked(question, pid, out)


def _collect(asked: list[_Asked], until_seconds: float) -> None:
    """Reads what they print until all have ended or the time is up; leaves none running."""
    waiting = {each.fd: each for each in asked}
    # Answers that have come by now are read, even if the save took long.
    until_seconds = max(until_seconds, time.monotonic() + _LEAST_SECONDS)
    while waiting and (left_seconds := until_seconds - time.monotonic()) > 0:
        for fd in readable(waiting, left_seconds):
            data = os.read(fd, _MOST_BYTES)
            waiting[fd].output = (waiting[fd].output + data)[-_MOST_BYTES:]
            if not data:
                del waiting[fd]
    for each in waiting.values():
        # It may have ended itself and left another process behind, in the session that it led.
        own_process.send_to_group(signal.SIGKILL, each.pid)
    for each in asked:
        os.close(each.fd)
