"""The kernel, systemd, containers and notebooks about processes that they ended."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.sign import Sign, Weight, line
from pitstop.diagnosis.phrases import NAME_THE_LINE

_LESS = "Use less host memory: smaller batches and shuffle buffers, fewer data workers."
_MORE = "Raise the memory limit of the container or job (`docker run -m`, `limits.memory`)."
_XID = "Take the machine out of use and start on another; tell its owner the Xid."

KERNEL = (
    Sign(
        line(
            r"^.*(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process.*$",
            r"^.*oom-kill:constraint=.*$",
            r"^.*invoked oom-killer.*$",
            r"^.*(?:has been killed|killed) by the OOM killer.*$",
            r"^.*Failed with result 'oom-kill'.*$",
            r"^.*systemd-oomd killed \d+ process.*$",
            r"^.*Killed \S+ due to memory (?:pressure|used).*$",
            r"^.*earlyoom.*(?:sending SIG(?:TERM|KILL) to process).*$",
        ),
        "host_oom_killed",
        "The kernel, or a memory watcher, killed it for memory.",
        (_LESS, _MORE),
        confidence=0.93,
        survives=True,
    ),
    Sign(
        line(
            r"^.*\bOOMKilled\b(?!\"?\s*[:=]\s*\"?false).*$",
            r"^.*[Cc]ontainer .*(?:OOM-killed|killed due to memory|memory limit).*$",
            r"^.*session crashed after using all available (?:RAM|memory).*$",
            r"^.*tried to allocate more memory than is available.*$",
            r"^.*[Tt]ask was killed due to the node running low on memory.*$",
            r"^.*\b[1-9]\d* [Ww]orkers?\b.* killed due to memory pressure.*$",
            r"^.*killed (?:due to|because of) (?:running )?(?:out of|low|high|excessive) memory.*$",
            r"^.*running beyond (?:physical|virtual) memory limits.*$",
            r"^.*OutOfMemoryError: Container killed due to.*$",
        ),
        "host_oom_killed",
        "The container or session was killed for memory.",
        (_MORE, _LESS),
        confidence=0.96,
        survives=True,
    ),
    Sign(
        line(
            r"^.*NVRM: Xid.*: (?:79|48|63|64|74|92|94|95|119|120|140),.*$",
            r"^.*fallen off the bus.*$",
        ),
        "gpu_driver_or_library",
        "The GPU or its driver failed, as the kernel log says.",
        (_XID,),
        confidence=0.93,
        survives=True,
    ),
    Sign(
        line(r"^.*NVRM: Xid .*$", r"^.*[Uu]ncorrectable ECC error.*$"),
        "gpu_driver_or_library",
        "The GPU reported an error to the kernel.",
        ("Look up the Xid: 13, 31 and 43 mostly come from the program, others from hardware.",),
        weight=Weight.SPECIAL,
        confidence=0.8,
        survives=True,
    ),
    Sign(
        # arch/x86/mm/fault.c and arch/x86/kernel/traps.c of the kernel.
        line(
            r"^.*\[\d+\]:? segfault at [0-9a-f]+ ip .*$",
            r"^.*\[\d+\]:? (?:general protection(?: fault)?|trap (?!invalid opcode)[\w ]+) ip:.*$",
        ),
        "native_crash",
        "The process crashed in native code, as the kernel log says.",
        (NAME_THE_LINE,),
        weight=Weight.STATUS,
        confidence=0.87,
    ),
    Sign(
        line(r"^.*\[\d+\]:? trap invalid opcode ip:.*$"),
        "illegal_instruction",
        "A library was built for another processor: the kernel log tells of an invalid opcode.",
        ("Compare `grep -m1 flags /proc/cpuinfo` with what it needs; install another build.",),
        weight=Weight.STATUS,
        confidence=0.9,
    ),
    Sign(
        line(r"^.*runtime (?:has been )?disconnected.*(?:inactivity|maximum).*$"),
        "time_limit",
        "The notebook service ended the session: its time was up, or nobody was there.",
        ("Save checkpoints to a drive, and start it again.",),
        confidence=0.85,
    ),
    Sign(
        line(
            r"^.*[Kk]ernel (?:[Dd]ied|Restarting|appears to have died|crashed while executing).*$",
            r"^.*KernelRestarter: restarting kernel.*$",
            r"^.*session crashed for an unknown reason.*$",
            r"^.*[Kk]ernel .{0,60}(?:is dead|has died).*$",
        ),
        "unknown",
        "The notebook's kernel process ended without a word.",
        ("Run the notebook as a script: the shell then says which signal ended it.",),
        weight=Weight.STATUS,
        confidence=0.3,
    ),
)
