"""Exceptions about other tasks, downloads and the network."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import Signature, classes, words

_VICTIM = "This task is a victim: look at the log of the task that failed first."
_FETCH_BEFORE = "Download the data beforehand; check the name, the proxy and the certificates."

CLUSTER = (
    Signature(
        "worker_lost",
        "Another task of the cluster went away",
        (_VICTIM,),
        words(
            r"heartbeat timeout|missed heartbeats|Collective ops is aborted",
            r"different device incarnation|current incarnation doesn't match|Barrier timed out",
            r"remote task has failed",
            r"Connection closed by (?:remote )?peer|ncclRemoteError|Socket closed",
            r"Horovod has been shut down|rank \d+ .*(?:exited|died|failed)",
            r"failed to connect to all addresses|another task died",
            r"\b(?:UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED): ",
            r"(?:gloo|nccl|c10d|ProcessGroup|[Hh]orovod|MPI|grpc_)\w*\b.*"
            r"(?:[Cc]onnection (?:closed|reset|refused)|[Bb]roken pipe|closed by)",
            r"(?:actor|worker|raylet|node) (?:died|is dead|has died|crashed|failed)",
            r"The client socket has (?:failed to connect|timed out)",
            r"DistStoreError|store->get.*(?:got error|timeout)|TCPStore.*(?:reset|closed|timed)",
        ),
        is_victim=True,
    ),
    Signature(
        "hang_or_stall",
        "A collective operation stood still until its watchdog ended it",
        (
            "Look which rank did not come to the collective: its log, or NCCL_DEBUG=INFO.",
            "Ranks that run different numbers of batches wait for ever for each other.",
        ),
        words(
            r"Watchdog caught collective operation timeout",
            r"(?i:collective)\w* .{0,60}timed? ?out",
            r"Timed out waiting \d+ms for (?:recv|send) operation",
        ),
        confidence=0.85,
        is_victim=True,
    ),
    Signature(
        "worker_lost",
        "A process that worked for this one went away",
        (
            "Look above for what that process said; without a word it was killed or crashed.",
            "With no worker processes (`num_workers=0`) the error shows itself.",
        ),
        words(r"[Ww]orkers?\b.*exited unexpectedly", r"terminated abruptly", "was unexpectedly"),
        confidence=0.8,
        is_victim=True,
    ),
    Signature(
        "worker_lost",
        "A process that worked for this one went away",
        ("Look above for what that process said; without a word it was killed or crashed.",),
        classes=classes("ConnectionResetError ConnectionRefusedError BrokenPipeError EOFError"),
        places=frozenset({"processes"}),
        confidence=0.8,
        is_victim=True,
    ),
    Signature(
        "worker_lost",
        "Another task of the cluster went away",
        (_VICTIM,),
        classes=classes(
            "UnavailableError AbortedError RayActorError ActorDiedError WorkerCrashedError "
            "HorovodInternalError DistNetworkError NodeDiedError BrokenProcessPool "
            "TerminatedWorkerError RendezvousConnectionError"
        ),
        confidence=0.85,
        is_victim=True,
    ),
    Signature(
        "worker_lost",
        "It was cancelled because something else had failed",
        (_VICTIM,),
        classes=classes("CancelledError"),
        confidence=0.7,
        is_victim=True,
    ),
    Signature(
        "worker_lost",
        "NCCL could not reach the other processes",
        (
            "Run with NCCL_DEBUG=WARN: the lines before the error say which call failed.",
            "Look whether a process ended first, and at NCCL_SOCKET_IFNAME and `df /dev/shm`.",
        ),
        words(r"ncclSystemError|NCCL error:? unhandled system error"),
        confidence=0.65,
        is_victim=True,
    ),
    Signature(
        "gpu_driver_or_library",
        "NCCL, which joins the GPUs, failed",
        ("Run with NCCL_DEBUG=WARN: the lines before the error say why.",),
        words(r"NCCL (?:error|failure|WARN)|NCCL: unhandled|ncclUnhandledCudaError|ncclInternal"),
        confidence=0.75,
        is_victim=True,
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        (_FETCH_BEFORE,),
        words(
            r"URL fetch failure|Failed to download|[Dd]ownload failed",
            r"(?:Name or service|nodename nor servname) (?:not known|provided)|getaddrinfo failed",
            r"[Nn]ame resolution|Failed to resolve|[Cc]ould not resolve host|No address associated",
            r"CERTIFICATE_VERIFY_FAILED|SSLError|EOF occurred in violation of protocol",
            r"[Cc]onnection (?:refused|timed out|reset by peer|aborted|broken)",
            r"\[WinError 1(?:0051|0053|0054|0060|0061|1001)\]",
            r"Network is unreachable|No route to host|Max retries exceeded|Read timed out",
            r"Stale file handle|HTTP Error \d{3}|\b[45]\d\d (?:Client|Server) Error",
            r"[Cc]ouldn't connect to '?http|Could not connect to|Remote end closed connection",
            r"Internet connection|\bConnection error\b|[Cc]ouldn't reach |offline mode",
            r"load it from 'https?://|HTTPSConnectionPool|urlopen error|[Uu]nable to connect to",
            r"(?i:nonmatchingchecksum)|has wrong checksum",
            r"IncompleteRead|Transport endpoint is not connected|Broken pipe.*(?:http|s3)",
        ),
        confidence=0.9,
    ),
    Signature(
        "user_code_error",
        "A program that read from this one ended before it",
        ("Look why it ended: `| head`, a pager, or a helper that failed.",),
        classes=classes("BrokenPipeError"),
        confidence=0.85,
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        (_FETCH_BEFORE,),
        classes=classes(
            "URLError HTTPError ConnectionError gaierror SSLError SSLCertVerificationError "
            "ConnectTimeout ReadTimeout MaxRetryError NewConnectionError ProxyError "
            "ChunkedEncodingError ContentTooShortError RemoteDisconnected IncompleteRead "
            "LocalEntryNotFoundError RepositoryNotFoundError GatedRepoError HfHubHTTPError "
            "EndpointConnectionError OfflineModeIsEnabled ServiceUnavailable CommError "
            "DownloadError ConnectError ConnectTimeoutError ReadTimeoutError FetchFailedError "
            "NonMatchingChecksumError"
        ),
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        (_FETCH_BEFORE,),
        packages=frozenset({"aiohttp", "httpcore", "httpx", "requests", "urllib3"}),
        confidence=0.85,
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        (_FETCH_BEFORE,),
        classes=classes("TimeoutError timeout DeadlineExceededError"),
        confidence=0.8,
    ),
)
