"""Batch schedulers: Slurm, PBS, LSF, Grid Engine, HTCondor; and services with a time limit."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.sign import Sign, Weight, line

_MORE_TIME = "Ask for more time, or submit the same script again so that it resumes."
_MORE_MEMORY = "Ask for more memory (`--mem` of Slurm, `-l mem=` of PBS, `-M` of LSF)."
_WHO = "`sacct -j JOBID --format=JobID,State,ExitCode,Elapsed,Timelimit` tells who ended it."

SCHEDULERS = (
    Sign(
        line(r"^.*CANCELLED .*DUE TO TIME LIMIT.*$", r"^.*\b(?:State|JobState)[=:] ?TIMEOUT\b.*$"),
        "time_limit",
        "Slurm ended the job: its time limit was reached.",
        (_MORE_TIME,),
        confidence=0.99,
    ),
    Sign(
        line(
            r"^.*CANCELLED AT .*DUE TO (?:PREEMPTION|JOB REQUEUE).*$", r"^.*State[=:] ?PREEMPTED.*$"
        ),
        "preempted_or_terminated",
        "Slurm took the job's nodes for another job (preemption).",
        ("Submit it again; `--requeue` lets Slurm do so.",),
        confidence=0.99,
    ),
    Sign(
        line(r"^.*\b(?:TPU|VM|[Ii]nstance|[Nn]ode)\b.* in state PREEMPTED\b.*$"),
        "preempted_or_terminated",
        "The cloud took the machine away (preemption).",
        ("Start it again on another machine, so that it resumes from its last checkpoint.",),
    ),
    Sign(
        line(
            r"^.*CANCELLED AT .*DUE TO NODE FAILURE.*$", r"^.*(?:State[=:] ?|DUE TO )NODE_FAIL.*$"
        ),
        "worker_lost",
        "Slurm ended the job: a node of it failed.",
        ("Submit it again, without that node (`--exclude`).",),
    ),
    Sign(
        line(
            r"^.*(?:slurmstepd|srun|sbatch|batch).*\boom[_-]kill\b.*$",
            r"^.*task[\d, -]*: Out Of Memory.*$",
            r"^.*Exceeded (?:job|step) memory limit.*$",
            r"^.*State[=:] ?OUT_OF_MEMORY.*$",
            r"^.*slurmstepd.*(?:memory limit|OOM).*$",
        ),
        "host_oom_killed",
        "Slurm says that the job was killed for memory.",
        (_MORE_MEMORY, "Use less host memory: smaller batches and buffers, fewer data workers."),
        confidence=0.97,
    ),
    Sign(
        line(r"^.*(?:JOB|STEP) [\d.]+ ON \S+ CANCELLED AT (?!.*DUE TO).*$"),
        "preempted_or_terminated",
        "Slurm cancelled the job: somebody ran scancel, or a rule of the cluster.",
        (_WHO,),
        confidence=0.9,
    ),
    Sign(
        line(r"^=>> PBS: job killed: (?:walltime|cput) .*$", r"^.*TERM_(?:RUN|CPU)LIMIT.*$"),
        "time_limit",
        "The scheduler ended the job: its time limit was reached.",
        (_MORE_TIME,),
        confidence=0.99,
    ),
    Sign(
        line(
            r"^=>> PBS: job killed: (?:mem|vmem|pmem|pvmem) .*$",
            r"^.*TERM_(?:MEM|SWAP)LIMIT.*$",
            r"^=>> PBS: .*oom.*$",
            r"^.*[Jj]ob .*(?:exceeded|exceeds) (?:its )?(?:requested )?memory.*$",
        ),
        "host_oom_killed",
        "The scheduler killed the job for memory.",
        (_MORE_MEMORY,),
        confidence=0.97,
    ),
    Sign(
        line(r"^.*TERM_(?:OWNER|ADMIN|FORCE_OWNER|PREEMPT|REQUEUE_\w+|LOAD|EXTERNAL_SIGNAL).*$"),
        "preempted_or_terminated",
        "LSF ended the job on somebody's request.",
        ("`bhist -l JOBID` tells who ended it.",),
    ),
    Sign(
        line(
            r"^.*(?:[Ww]all ?(?:clock )?time|[Mm]aximum (?:execution|run(?:ning)?)[ -]?time"
            r"|max(?:imum)? (?:execution|duration)|[Tt]ime ?limit)\b.*"
            r"(?:exceed|reach|hit|expired|was killed).*$",
            r"^.*exceed\w* (?:the |its )?(?:\w+ )?(?:wall ?(?:clock ?)?(?:time|limit)"
            r"|maximum (?:execution|run) ?time|time limit|duration).*$",
            r"^.*was active longer than specified deadline.*$",
            r"^.*\b(?:[Jj]ob|[Ee]xecution|[Bb]uild|[Aa]ction|[Pp]ipeline|[Aa]gent|[Ss]tep)\b.{0,60}"
            r"(?:(?:took|ran) longer than|timed out \(?after) .{0,40}"
            r"\d ?(?:h\d|m\d|[hm]\b|min(?:ute)?s?\b|hours?\b).*$",
            r"^\s*(?:Reason|reason): +\"?DeadlineExceeded.*$",
            r"^timeout: sending signal \w+ to command.*$",
            r"^.*reaching its maximum duration.*$",
        ),
        "time_limit",
        "The time that the job was given is up.",
        (_MORE_TIME,),
        confidence=0.93,
    ),
    Sign(
        line(
            r"^.*(?:condor_rm|Job was evicted|Job was (?:aborted|removed) by the user).*$",
            r"^.*\b[Jj]ob deleted at request of .*$",
        ),
        "preempted_or_terminated",
        "The scheduler took the job away.",
        ("Ask the scheduler why: `condor_history -l JOBID`, `tracejob JOBID`.",),
        confidence=0.9,
    ),
    Sign(
        line(
            r"^.*(?:[Ss]pot|[Pp]reemptible|[Ii]nstance|VM|[Nn]ode|[Pp]od|[Jj]ob|[Ww]orker)\b"
            r".{0,60}\b(?:was |been |being |is )?(?:preempted|interrupted by|reclaimed|evicted).*$",
            r"^(?!.*\b(?:[Ww]atch|[Ll]isten|[Pp]oll|[Rr]egist|[Ww]ait|[Ee]nabl|[Cc]heck|[Nn]o\b))"
            r".*\b(?:[Ss]pot|[Ii]nstance|VM|[Nn]ode|[Pp]reemptible)\b.{0,40}"
            r"\b(?:interruption|termination|preemption|eviction) (?:notice|warning|signal).*$",
            r"^.*\b(?:[Rr]eceived|[Cc]aught|[Gg]ot)\b.{0,20}\bSIGTERM\b.*$",
            r"^.*Received 15 death signal.*$",
            r"^.*\b(?:termination|preemption) is imminent.*$",
            r"^\s*(?:Status|Reason): +(?:Preempted|Preempting|TaintManagerEviction|Shutdown).*$",
            r"^\s*Reason: +Evicted.*$",
            r"^.*[Tt]he node was low on resource: (?!ephemeral).*$",
        ),
        "preempted_or_terminated",
        "It was asked to end: the machine or the job was taken away.",
        ("Ask the scheduler or the cloud's event log who did it, then start it again.",),
        confidence=0.9,
    ),
    Sign(
        line(
            r"^.*ephemeral[- ](?:local )?storage.*(?:exceed|low).*$",
            r"^.*low on resource: ephem.*$",
        ),
        "disk_full",
        "The pod used more disk than it may, and was evicted.",
        ("Raise `resources.limits.ephemeral-storage`, or write to a volume.",),
        weight=Weight.VERDICT,
    ),
)
