"""Reports written by hand, with texts that break careless renderers."""

from __future__ import annotations

import math

from pitstop.diagnosis import CauseId, ChainLink, Diagnosis, EvidenceItem, Finding
from pitstop.diagnosis.event_words import MarkKind
from pitstop.report import WhyReport
from pitstop.report.timeline import Mark, Panel, Series, Timeline, Unit
from pitstop.report.why import AttemptProgress

PATH = "/very/long/path/without/any/spaces/" + "x" * 90
MARKUP = "[bold]not markup[/bold] <b>*no* _html_</b>"
HOSTILE = (
    "</script></style></pre>--><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x00"
)
START = 1_764_000_000.0

EARLIER = Diagnosis(
    1,
    "failed",
    Finding("killed_from_outside", 0.9, "The trainer was killed. " + "Long words follow. " * 9),
    step=20,
)


def finding(cause: CauseId, text: str = MARKUP) -> Finding:
    return Finding(
        cause,
        0.953,
        f"The disk is full at step 47: {text}",
        (
            EvidenceItem("exception", f"OSError: {PATH}\nsecond line"),
            EvidenceItem("output", text),
        ),
        ("Free space (`df -h`).", "Run the same command again: it resumes after step 40."),
        ("the kernel log",),
    )


def diagnosis(cause: CauseId, text: str = MARKUP, state: str = "failed") -> Diagnosis:
    return Diagnosis(
        attempt=2,
        state=state,
        finding=finding(cause, text),
        others=(Finding("nan_loss", 0.35, "The loss became nan."),),
        chain=(
            ChainLink(f"memory grew by 20 MB a minute {text}", "flight recorder", START + 10),
            ChainLink("the kernel killed it", "kernel log"),
        ),
        step=47,
        checkpoint_step=40,
        looked_at=("journal (9 events)",),
    )


def timeline(text: str = MARKUP, count: int = 500) -> Timeline:
    """A timeline with all sorts of panels, of so many points each."""
    times = [START + 60.0 * i / count for i in range(count)]
    rising = tuple((at, 4e9 * i / count) for i, at in enumerate(times))
    falling = tuple((at, 2.5 / (1 + i)) for i, at in enumerate(times))
    broken = tuple(
        (at, math.nan if i > count - 3 else value) for i, (at, value) in enumerate(falling)
    )
    panels = (
        Panel(
            "loss",
            "Loss",
            Unit.PLAIN,
            (Series("loss", broken), Series("val_loss", falling[::50], is_dots=True)),
        ),
        Panel(
            "memory",
            "Memory",
            Unit.BYTES,
            (Series(f"processes {text}", rising),),
            4.2e9,
            "cgroup limit",
        ),
        Panel("cpu", "Processors", Unit.SHARE, (Series("trainer", falling),)),
        Panel("speed", "Speed", Unit.PER_SECOND, (Series("steps", falling),)),
        Panel("gpu", "Used", Unit.COUNT, (Series("GPU 0", falling), Series("GPU 1", falling))),
    )
    marks = (
        Mark(START + 5, MarkKind.RESUME, "resumed at step 20"),
        *(Mark(START + 10 + i, MarkKind.CHECKPOINT, f"step {i} saved") for i in range(20)),
        Mark(START + 40, MarkKind.WARNING, text),
        Mark(START + 50, MarkKind.STOP, "stop requested"),
        Mark(START + 59, MarkKind.FAULT, "the loss became nan"),
        Mark(START + 60, MarkKind.END, "the script ended: SIGKILL"),
    )
    return Timeline(START, START + 60, panels, marks)


def whole(cause: CauseId, text: str = MARKUP, state: str = "failed") -> WhyReport:
    """A report in which nothing is left out."""
    last, course = diagnosis(cause, text, state), timeline(text)
    return WhyReport(
        name=f"runs/train {text}",
        last=last,
        earlier=(EARLIER,),
        damaged_lines=1,
        attempts=(
            AttemptProgress(1, "failed", "killed_from_outside", START - 90, START - 10, 0, 30, 20),
            AttemptProgress(2, state, cause, START, START + 60, 20, 47, 40),
        ),
        timeline=course,
        facts=(("command", f"python train.py {text}"), ("host", "box")),
        output=("Epoch 1/5", text),
    )


LAST = diagnosis("disk_full")
REPORT = WhyReport("runs/train", LAST, (EARLIER,), damaged_lines=1)
RUNNING = WhyReport("runs/train", Diagnosis(3, "running", None))
