"""Reports written by hand, with texts that break careless renderers."""

from __future__ import annotations

from pitstop.diagnosis import Diagnosis, EvidenceItem, Finding
from pitstop.report import WhyReport

PATH = "/very/long/path/without/any/spaces/" + "x" * 90
MARKUP = "[bold]not markup[/bold] <b>*no* _html_</b>"

EARLIER = Diagnosis(
    1,
    "failed",
    Finding("killed_from_outside", 0.9, "The trainer was killed. " + "Long words follow. " * 9),
    step=20,
)
LAST = Diagnosis(
    attempt=2,
    state="failed",
    finding=Finding(
        "disk_full",
        0.953,
        f"The disk is full at step 47: {MARKUP}",
        (
            EvidenceItem("exception", f"OSError: {PATH}\nsecond line"),
            EvidenceItem("output", MARKUP),
        ),
        ("Free space (`df -h`).", "Run the same command again: it goes on after step 40."),
        ("the kernel log",),
    ),
    others=(Finding("nan_loss", 0.35, "The loss became nan."),),
    step=47,
    checkpoint_step=40,
    looked_at=("journal (9 events)",),
)
REPORT = WhyReport("runs/train", LAST, (EARLIER,), damaged_lines=1)
RUNNING = WhyReport("runs/train", Diagnosis(3, "running", None))
