"""What frameworks and their callbacks print when they end a training, or should have."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.sign import Sign, Weight, line

_LOWER = "Lower the learning rate or clip gradients; look for NaN, empty or huge inputs."
_LESS_ON_GPU = "Use a smaller batch; look with `nvidia-smi` who else uses the GPU."

TRAINING = (
    Sign(
        line(
            r"^.*Invalid loss, terminating training.*$",
            r"^.*(?:[Ll]oss is (?:nan|NaN|inf)).*(?:stop|terminat|exit|abort).*$",
            r"^.*(?:[Mm]odel diverged|[Tt]raining diverged|[Ll]oss (?:has )?diverged"
            r"|diverged with loss).*$",
            r"^.*[Dd]etected nan/inf .*(?:stopping|terminat).*$",
            r"^.*(?:NaN|nan) (?:loss )?(?:detected|encountered).*(?:stop|terminat|exit|abort).*$",
            r"^.*Current loss scale already at minimum.*$",
        ),
        "nan_loss",
        "The loss became NaN or infinite, and that ended the training.",
        (_LOWER,),
        confidence=0.95,
        survives=True,
    ),
    Sign(
        line(
            r"^[\s#>\"'*|/-]*Epoch \d+: (?i:early stopping).*$",
            r"^(?!.*counter)(?!.*(?:enabled|patience ?=|Creating|[Uu]sing))"
            r"(?!.*[Ss]topping (?:(?!epoch|iter|step)\w+ ?)?[:= ] ?[\d.e-]+\W*$)"
            r".*\b[Ee]arly[ -]?[Ss]topp(?:ing|ed)\b"
            r".*(?:trigger|stop|epoch|best|iteration|no improve|activated|\d|!).*$",
            r"^\s*[Ee]arly[ -]?[Ss]topp(?:ing|ed)[.!]*$",
            r"^.*Signaling Trainer to stop.*$",
            r"^.*[Nn]o improvement (?:for|in|since) .*(?:stop|terminat).*$",
            r"^.*`Trainer\.fit` stopped: Trainer\.should_stop.*$",
            r"^.*Stopping training early.*$",
        ),
        "early_stopping_or_callback_stop",
        "Early stopping ended the training.",
        ("If this was too early, raise its patience, or check the metric that it watches.",),
        confidence=0.92,
        survives=True,
    ),
    Sign(
        line(r"^.*[Yy]our input ran out of data.*$", r"^.*[Yy]our dataset ran out of data.*$"),
        "dataset_exhausted",
        "The dataset ran out of batches before the epochs were over.",
        ("Add .repeat() to the dataset or drop steps_per_epoch.",),
        weight=Weight.SPECIAL,
        confidence=0.9,
        survives=True,
    ),
    Sign(
        line(
            *(r"^(?:\^(?:\[\[)?[A-Z])*\^C.*$", r"^.*Detected KeyboardInterrupt.*$"),
            r"^(?!.*\bexcept\b).*KeyboardInterrupt\b(?!\.).*$",
            r"^.*\b(?i:ctrl ?[+-] ?c) (?:was )?(?:detected|pressed|received|caught).*$",
            r"^.*\b(?i:interrupted|stopped|cancell?ed) by (?:the )?(?i:user)\b.*$",
        ),
        "user_interrupt",
        "It was interrupted (Ctrl-C).",
        ("Start it again; under `pitstop run` no step is lost by Ctrl-C.",),
        weight=Weight.GENERAL,
        confidence=0.85,
    ),
    Sign(
        line(
            r"^.*No matching distribution found for .*$",
            r"^.*Could not find a version that satisfies.*$",
            r"^(?:/?[\w./-]+: )?(?:(?:line )?\d+: )?[\w./-]+: (?:command )?not found$",
            r"^.*error while loading shared libraries: .*$",
            r"^.*version `(?:GLIBC|CXXABI)\w*' not found.*$",
            r"^ResolutionImpossible: .*$",
            r"^.*(?:PackagesNotFoundError|UnsatisfiableError): .*$",
            r"^.*executable file not found in \$PATH.*$",
            r"^\S*python\S*: No module named .*$",
        ),
        "dependency_or_import_error",
        "A program or package is missing, or does not fit.",
        ("Install it into the environment that runs the script.",),
        weight=Weight.SPECIAL,
        confidence=0.88,
    ),
    Sign(
        line(
            r"^\S*python\S*: can't (?:open file|find '__main__' module in) .+$",
            r"^\S+\.py: error: .+$",
            r"^usage: .*\n(?:.*\n){0,30}?\S+: error: .+$",
        ),
        "user_code_error",
        "The command line does not fit the script.",
        ("Mend the path or the arguments of the script.",),
        weight=Weight.SPECIAL,
        confidence=0.9,
    ),
    Sign(
        line(
            r"^.*(?:ErrImagePull|ImagePullBackOff).*$",
            r"^.*(?:Could not resolve host|unable to resolve host address"
            r"|Failed to connect to \S+ port).*$",
            r"^fatal: unable to access '.*$",
        ),
        "network_or_download_failure",
        "The network or a download failed.",
        ("Check the name, the proxy and the way out of that machine.",),
        weight=Weight.SPECIAL,
        confidence=0.85,
    ),
    Sign(
        line(r"^.*No space left on device.*$", r"^.*[Dd]isk quota exceeded.*$"),
        "disk_full",
        "The disk is full, or its quota used up.",
        ("Free space where the message points (`df -h`, `df -i`, `quota -s`).",),
        weight=Weight.SPECIAL,
        confidence=0.88,
    ),
    Sign(
        line(r"^.*Permission denied.*$", r"^.*Read-only file system.*$"),
        "permission_or_readonly",
        "Access was denied.",
        ("Check the owner and mode of the path in the message (`ls -ld PATH`) and the user.",),
        weight=Weight.HINT,
        confidence=0.7,
    ),
    Sign(
        line(r"^.*(?:CUDA_ERROR_OUT_OF_MEMORY|CUDA out of memory|CUDA error: out of memory).*$"),
        "gpu_oom",
        "The GPU ran out of memory.",
        (_LESS_ON_GPU,),
        weight=Weight.HINT,
        confidence=0.75,
    ),
    Sign(
        line(
            r"^.*bfc_allocator\.cc:\d+\] +(?:Summary of in-use Chunks|\d+ Chunks of size).*$",
            r"^\s+XLA Label: .*$",
        ),
        "gpu_oom",
        "The GPU ran out of memory: an allocator listed what holds it, as it does when it is full.",
        (_LESS_ON_GPU,),
        weight=Weight.HINT,
        confidence=0.75,
    ),
    Sign(
        line(r"^(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):$"),
        "native_crash",
        "Native code crashed: the stacks of all threads were printed, as at a crash.",
        ("The thread that is named first was running; look above for the signal.",),
        weight=Weight.HINT,
        confidence=0.6,
    ),
    Sign(
        line(r"^.*CreateSession still waiting for response from worker.*$"),
        "hang_or_stall",
        "It waited for other tasks of the cluster that did not answer.",
        ("Look whether the tasks that are named there run, and can be reached.",),
        weight=Weight.HINT,
        confidence=0.45,
    ),
    Sign(
        line(r"^ERROR .*[Ff]ailed to allocate a memory region.*\bGPUs?\b.*$"),
        "gpu_oom",
        "The GPU ran out of memory.",
        (_LESS_ON_GPU,),
        weight=Weight.SPECIAL,
        confidence=0.85,
    ),
    Sign(
        line(
            r"^.*Watchdog caught collective operation timeout.*$",
            r"^.*Stalled ops.*$|^.*One or more tensors were submitted to be reduced.*$",
            r"^.*Liveness probe failed.*$",
        ),
        "hang_or_stall",
        "It stood still: something waited for what did not come.",
        ("Look which task did not come to the collective, in the logs of all.",),
        weight=Weight.GENERAL,
        confidence=0.7,
        is_victim=True,
    ),
    Sign(
        line(
            r"^.*(?:remote task has failed|heartbeat timeout|Connection closed by (?:remote )?peer"
            r"|Horovod has been shut down|terminating connection due to).*$",
            r"^.*(?:actor|worker|raylet) (?:died|is dead) .*$",
        ),
        "worker_lost",
        "Another task of the cluster went away.",
        ("Look at the log of the task that failed first.",),
        weight=Weight.GENERAL,
        confidence=0.75,
        is_victim=True,
    ),
)
