"""The supervisor of a script that was started without one: `pitstop.start`, the callback.

The trainer starts it as `python -m pitstop.cli.companion REQUEST FD`; it answers there with one
line of JSON, the socket to connect to or the error to raise.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pitstop.cli.main import open_standard
from pitstop.cli.reports import leave_reports
from pitstop.errors import PitstopError
from pitstop.link.settings import Settings
from pitstop.plain_text import say
from pitstop.record import build
from pitstop.remote.place import is_url, parse
from pitstop.supervisor.runs.run_request import RunRequest
from pitstop.supervisor.stops import early_stop
from pitstop.supervisor.supervise import supervise


def read_request(text: str) -> RunRequest:
    """The request of a trainer; raises `PlaceInvalid` if its URL does not name a folder."""
    body = json.loads(text)
    place = parse(body["run_dir"]) if is_url(body["run_dir"]) else None
    return RunRequest(
        run_dir=place.working_copy if place else Path(body["run_dir"]),
        mirror=place.url if place else "",
        command=tuple(body["command"]),
        settings=build(Settings, "settings", body["settings"]),
        max_seconds=body["max_seconds"],
        status_line=False,
        trainer_pid=int(body["trainer_pid"]),
        kernel=body["kernel"],
    )


def accompany(arguments: Sequence[str]) -> int:
    # The trainer reads one line: after the socket it hears of no error.
    with open(int(arguments[1]), "w", encoding="utf-8") as answer:  # noqa: PTH123

        def tell(**members: str) -> None:
            if not answer.closed:
                answer.write(json.dumps(members) + "\n")
                answer.close()

        try:
            request = read_request(arguments[0])
            outcome = supervise(request, say, lambda path: tell(socket=path))
        except PitstopError as error:
            tell(message=error.message, remedy=error.remedy)
            return 2
    early_stop.ignore_signals()
    leave_reports(request.run_dir, say)
    return outcome.exit_code


if __name__ == "__main__":
    if json.loads(sys.argv[1])["kernel"]:
        # The cell's affair: VS Code interrupts a kernel's descendants, and then the kernel.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    elif os.fork():
        # Ray kills a worker's children, so we go on as no child; but a kernel waits for us.
        os._exit(0)
    open_standard()
    sys.exit(accompany(sys.argv[1:]))
