"""What native code prints before it gives up."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.sign import Sign, Weight, line
from pitstop.diagnosis.phrases import NAME_THE_LINE

_UPDATE = "Update or pin the library that is named there; report it with these lines."
_NO_THREAD = (
    "Raise `ulimit -u` or the pids limit of the container; lower OMP_NUM_THREADS and the number "
    "of data workers."
)

NATIVE = (
    Sign(
        line(
            r"^.*(?:was compiled to use|requires?) (?:\w+ )?.*instructions.*"
            r"(?:aren't|are not|isn't) available.*$",
            r"^.*(?:Fatal Python error|Windows fatal exception).*[Ii]llegal instruction.*$",
        ),
        "illegal_instruction",
        "A library was built for another processor.",
        ("Compare `grep -m1 flags /proc/cpuinfo` with what it needs; install another build.",),
        weight=Weight.SPECIAL,
    ),
    Sign(
        line(r"^.*\blib(?:nvidia-ml|cuda|cudart|cudnn|cublas|nccl)\S*: undefined symbol: .*$"),
        "gpu_driver_or_library",
        "A library of the GPU is older or newer than what was built for it.",
        ("Compare the driver's version (`nvidia-smi`) with what the framework asks for.",),
        weight=Weight.SPECIAL,
        confidence=0.85,
    ),
    Sign(
        line(
            r"^.*pthread_create\(?\)? failed.*(?:[Rr]esource|NPROC|[Ll]imit).*$",
            r"^.*(?:libgomp|OMP|OpenBLAS).*(?:[Tt]hread creation failed|unable to allocate"
            r"|unavailable).*$",
            r"^.*\bfork\b.*Resource temporarily unavailable.*$",
            r"^.*terminate called .*'std::system_error'.*\n.*Resource temporarily unavailable.*$",
        ),
        "thread_or_process_limit",
        "No more threads or processes could be started.",
        (_NO_THREAD,),
        weight=Weight.SPECIAL,
    ),
    Sign(
        # EAGAIN, which a thread gets too whose stack has no room in the address space.
        line(r"^.*pthread_create\(?\)? failed.*$"),
        "thread_or_process_limit",
        "A thread could not be started: by the limit on threads, or by one on memory.",
        (_NO_THREAD, "Lift `ulimit -v`, if one is set: each thread takes room for its stack."),
        weight=Weight.SPECIAL,
        confidence=0.8,
    ),
    Sign(
        line(
            r"^.*(?:terminate called|what\(\)|std::).*bad_alloc.*$",
            r"^.*(?:fork|mmap|malloc)\b.*Cannot allocate memory.*$",
            r"^Fatal Python error: .*MemoryError.*$",
            r"^.*DefaultCPUAllocator: .*$",
        ),
        "host_alloc_failure",
        "Native code asked for memory and got none.",
        ("Lift `ulimit -v`, or use less memory: smaller batches, fewer data workers.",),
        weight=Weight.SPECIAL,
    ),
    Sign(
        line(
            r"^.*(?:Unexpected bus error encountered in worker|insufficient shared memory).*$",
            r"^.*(?:/dev/shm|shm).*[Nn]o space left.*$",
            r"^.*[Bb]us error.*(?:shared memory|shm).*$",
            r"^.*[Ee]rror while creating shared memory segment.*$",
        ),
        "shm_exhausted",
        "Shared memory (/dev/shm) is full.",
        ("Give the container more (`docker run --shm-size=8g`), or clear /dev/shm.",),
        weight=Weight.SPECIAL,
    ),
    Sign(
        line(
            r"^.*loaded runtime CuDNN library: .* but source was compiled with.*$",
            r"^.*(?:failed to communicate with|couldn't communicate with) the NVIDIA driver.*$",
            r"^.*Could not load library libcudnn\w+.*$",
        ),
        "gpu_driver_or_library",
        "The GPU, its driver or its libraries failed.",
        ("Compare `nvidia-smi` with the CUDA and cuDNN versions the framework was built for.",),
        weight=Weight.SPECIAL,
        confidence=0.88,
    ),
    Sign(
        line(
            r"^Fatal Python error: .*[Ss]tack overflow.*$",
            r"^.*Fatal Python error: Cannot recover.*$",
        ),
        "user_code_error",
        "A function called itself without end.",
        ("Mend the recursion that the frames below it show.",),
        weight=Weight.SPECIAL,
        confidence=0.85,
    ),
    Sign(
        line(
            r"^.*terminate called after throwing .*\n(?:.*\n)?.*what\(\): +"
            r"(?P<what>.*(?:\n\S.*)?)$",
            r"^.*libc\+\+abi\S*: terminating .* of type [\w:]+?: (?P<uncaught>.*)$",
            r"^(?:.*: |\W*)F[\w./: ]+:\d+\] (?P<fatal>.*)$",
            r"^.*?(?P<check>Check failed: .*)$",
        ),
        "native_crash",
        "Native code gave up",
        (_UPDATE, NAME_THE_LINE),
        weight=Weight.SPECIAL,
        confidence=0.86,
    ),
    Sign(
        line(
            r"^.*(?:Fatal Python error|Windows fatal exception): (?P<fault>.+?)\s*$",
            r"^.*\*\*\* stack smashing detected.*$",
            r"^.*(?:double free or corruption|free\(\): invalid|munmap_chunk\(\)|malloc\(\): "
            r"|corrupted size vs|corrupted double-linked|realloc\(\): |malloc_consolidate).*$",
            r"^.*terminate called (?:after throwing|without an active|recursively).*$",
            r"^.*(?:libc\+\+abi|libc\+\+abi\.dylib): terminating.*$",
            r"^.*\*\*\* Aborted at \d+ .*$",
            r"^.*\*\*\* Check failure stack trace.*$",
            r"^.*\*\*\* SIG(?:ABRT|BUS|FPE|ILL|SEGV|SYS|TRAP) (?:\(@\w+\) )?received.*$",
            r"^.*A fatal error has been detected by.*$",
            r"^LLVM ERROR: .*$",
            r"^.*Assertion [`'].*' failed\.$",
            r"^.*OMP: Error #15: .*$",
            r"^.*\[libprotobuf FATAL .*$",
            r"^(?:#\s+)?SIG[A-Z]+ \(0x\w+\) at pc=.*$",
        ),
        "native_crash",
        "Native code crashed.",
        (_UPDATE, NAME_THE_LINE),
        weight=Weight.SPECIAL,
        confidence=0.85,
    ),
)
