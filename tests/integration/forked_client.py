"""Called like a `python`: asks a forking interpreter to run a script, and ends as it does.

The interpreter's socket lies beside this file.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path


def main() -> None:
    """Waits for the end of the script."""
    request = {"words": sys.argv[1:], "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(Path(__file__).with_name("socket")))
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        status = int(connection.recv(64))
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
        signal.pause()
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
