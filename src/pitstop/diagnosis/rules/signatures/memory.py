"""Exceptions about memory of the host and of GPUs, and about threads."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import SYSTEM, XLA, Signature, classes, words

EXHAUSTED = Signature(
    "host_alloc_failure",
    "Memory was asked for and refused",
    ("Check the shape in the message first; then use smaller batches.",),
    words(r"RESOURCE_EXHAUSTED(?!.*larger than max)|failed to allocate memory|Out of memory|OOM"),
    classes("ResourceExhaustedError RuntimeError", XLA),
    confidence=0.8,
)
"""No device is named: where the log tells of GPUs, it is theirs."""

GPU_MEMORY = Signature(
    "gpu_oom",
    "The GPU ran out of memory",
    (
        "Use a smaller batch or mixed precision; look with `nvidia-smi` who else uses the GPU.",
        "Against fragmentation, TensorFlow: TF_GPU_ALLOCATOR=cuda_malloc_async.",
        "Against fragmentation, PyTorch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    ),
    words(
        r"CUDA_ERROR_OUT_OF_MEMORY",
        r"OOM when allocating.*(?:GPU|gpu)",
        r"GPU_\d+_bfc",
        r"unable to allocate output tensor.*device:GPU:",
        r"Dst tensor is not initialized",
        r"(?:CUDA|HIP|MPS backend|XPU|NPU)[\w ]* out of memory",
        r"(?:CUDA|HIP|cuda\w*)(?: runtime)? error:? ?(?:\(\d+\) ?:? ?)?out of memory",
        r"cuda\w+\(\)[^\n]*Status: out of memory",
        r"cudaErrorMemoryAllocation|cudaMalloc failed: out of memory",
        r"CU(?:BLAS|DNN|SOLVER)_STATUS_ALLOC_FAILED",
        r"RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        r"Failed to allocate request for .* on device ordinal",
        r"(?i:ran out of memory in memory space (?:hbm|vmem))",
        r"failed to alloc(?:ate)? .* (?:on|from) device",
        r"\[METAL\].*Insufficient Memory|kIOGPU\w*OutOfMemory",
        r"out of memory.{0,80}(?:on (?:the )?GPU|GPU memory)",
    ),
)

MEMORY = (
    Signature(
        "thread_or_process_limit",
        "No more threads or processes could be started",
        ("Raise `ulimit -u` or the pids limit of the container; use fewer workers and threads.",),
        words(
            "can't start new thread",
            r"pthread_create.*(?:[Rr]esource|NPROC)",
            r"\[Errno 11\] Resource temporarily",
            "Thread creation failed",
            r"fork: .*Resource temporarily unavailable",
        ),
        classes("BlockingIOError", SYSTEM),
        limit="processes",
    ),
    Signature(
        # EAGAIN, which a thread gets too whose stack has no room in the address space.
        "thread_or_process_limit",
        "A thread could not be started, by the limit on threads or by one on memory",
        (
            "Raise `ulimit -u` or the pids limit of the container; use fewer workers and threads.",
            "Lift `ulimit -v`, if one is set: each thread takes room for its stack.",
        ),
        words("pthread_create"),
        classes("BlockingIOError", SYSTEM),
        limit="processes",
        confidence=0.8,
    ),
    Signature(
        "host_oom_killed",
        "The memory monitor of the cluster killed it: the node ran low on memory",
        ("Ask for more memory for the task, run fewer tasks on a node, or use smaller batches.",),
        words(r"killed due to the node running low on memory", r"OOM kill reason"),
    ),
    GPU_MEMORY,
    Signature(
        "gpu_oom",
        "The GPU ran out of memory",
        GPU_MEMORY.advice,
        words("CUDA|GPU|Tried to allocate"),
        classes("OutOfMemoryError"),
    ),
    Signature(
        "host_alloc_failure",
        "Memory was asked for and refused",
        ("Check the shape in the message first; then `ulimit -v`, and use smaller batches.",),
        words(
            "OOM when allocating",
            "Unable to allocate",
            r"[Cc]annot allocate memory",
            "bad_alloc",
            r"can't allocate memory",
            r"DefaultCPUAllocator",
            r"not enough memory: you tried to allocate",
            r"\[Errno 12\]",
            r"Failed to allocate memory for requested buffer",
            r"\[WinError (?:8|14|1450|1455)\]",
        ),
        limit="address_space_bytes",
    ),
    Signature(
        "host_alloc_failure",
        "Memory was asked for and refused",
        ("Check `ulimit -v` and how much is asked for at this line; use smaller batches.",),
        classes=classes("MemoryError"),
        limit="address_space_bytes",
    ),
    EXHAUSTED,
)
