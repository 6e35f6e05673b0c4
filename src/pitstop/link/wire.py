"""Messages over a Unix stream socket: a length, a JSON object, open files.

A frame is a 4-byte little-endian length, a 1-byte count of descriptors, and
the JSON text.  Descriptors travel with the first byte of their frame
(SCM_RIGHTS), so a receiver that reads in order can pair them with it.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable, Sequence

from pitstop.errors import EnvironmentFault, NoAnswer, PeerClosed
from pitstop.link.messages import MalformedMessage, Message, UnknownMessage, message_in
from pitstop.record import Frozen

PROTOCOL = 2
_HEAD = struct.Struct("<IB")
_MAX_FDS = 16
"""Of one message: a restore image has a table and the files that a checkpoint refers to."""
_ANCILLARY_BYTES = socket.CMSG_SPACE(_MAX_FDS * struct.calcsize("i"))
_READ_BYTES = 1 << 16
_MOST_BYTES = 1 << 26


def _timeval(seconds: float) -> bytes:
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))


class Received(Frozen):
    """A message, and descriptors that the receiver now owns."""

    message: Message
    fds: tuple[int, ...] = ()


class Connection:
    """One end of a conversation.  Sending is safe from several threads."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._sending = threading.Lock()
        self._received = bytearray()
        self._fds: deque[int] = deque()

    @classmethod
    def connect(cls, path: str, timeout_seconds: float = 10.0) -> Connection:
        """Connects; `PeerClosed` where nobody listens, `NoAnswer` where nobody is let in."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # With a timeout of Python's, `connect` fails at once where the queue is full (unix(7)).
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(timeout_seconds))
        try:
            sock.connect(path)
        except (BlockingIOError, TimeoutError) as error:
            sock.close()
            raise NoAnswer(f"The process that listens on {path} accepts no connections.") from error
        except OSError as error:
            sock.close()
            raise PeerClosed(f"No process listens on {path} ({error.strerror}).") from error
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(0))
        return cls(sock)

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Returns when the kernel has it; `ValueError` if too large, `PeerClosed` if refused."""
        text = json.dumps(message.to_body(), default=vars, separators=(",", ":")).encode()
        if len(text) > _MOST_BYTES:
            raise ValueError(f"a message of {len(text)} bytes")
        frame = _HEAD.pack(len(text), len(fds)) + text
        with self._sending:
            try:
                sent = socket.send_fds(self.socket, [frame], list(fds)) if fds else 0
                self.socket.sendall(frame[sent:])
            except OSError as error:
                # Half a message may be out: nothing can follow it.
                self.shut_down()
                raise PeerClosed("The other process of the run is gone.") from error

    def tell(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Sends one message, to a process that may be gone: its end is noticed elsewhere."""
        with contextlib.suppress(PeerClosed):
            self.send(message, fds)

    def receive(self) -> Received:
        """Waits for a message; raises `NoAnswer`, `PeerClosed`, or `EnvironmentFault`."""
        while (received := self._next()) is None:
            self._read()
        return received

    def receive_ready(self) -> list[Received]:
        """Reads what has arrived (at least one byte): the whole messages.  Raises as `receive`."""
        self._read()
        return list(iter(self._next, None))

    def is_closed(self) -> bool:
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))

    def shut_down(self) -> None:
        """Ends the conversation, also where a child or a thread holds the socket as well."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.socket.close()
        while self._fds:
            os.close(self._fds.popleft())

    def _read(self) -> None:
        try:
            # Not `socket.recv_fds`: it drops its flags in Python 3.11.
            data, ancillary, flags, _ = self.socket.recvmsg(
                _READ_BYTES, _ANCILLARY_BYTES, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except ConnectionError as error:
            raise PeerClosed("The other process of the run is gone.") from error
        except TimeoutError as error:
            raise NoAnswer("The other process of the run does not answer.") from error
        self._fds.extend(_descriptors(ancillary))
        if flags & socket.MSG_CTRUNC:
            # The kernel has dropped what did not fit; the message would never become whole.
            raise EnvironmentFault(
                "Files from another process of the run were lost: this process has too many open "
                "files.",
                "Raise the limit, for example `ulimit -n 65536`.",
            )
        if not data:
            raise PeerClosed("The other process of the run closed the connection.")
        self._received += data

    def _next(self) -> Received | None:
        if len(self._received) < _HEAD.size:
            return None
        length, fd_count = _HEAD.unpack_from(self._received)
        if length > _MOST_BYTES or fd_count > _MAX_FDS:
            raise PeerClosed("The other process sent an invalid message.")
        end = _HEAD.size + length
        if len(self._received) < end or len(self._fds) < fd_count:
            return None
        text = self._received[_HEAD.size : end]
        del self._received[:end]
        fds = tuple(self._fds.popleft() for _ in range(fd_count))
        message = message_in(text, len(fds))
        if isinstance(message, MalformedMessage | UnknownMessage):
            close_all(fds)
            return Received(message)
        return Received(message, fds)


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> array.array[int]:
    fds = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(data[: len(data) // fds.itemsize * fds.itemsize])
    return fds


def close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def pair() -> tuple[Connection, Connection]:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Connection(left), Connection(right)
