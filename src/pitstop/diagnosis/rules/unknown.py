"""What is said when no rule knows the end."""

from __future__ import annotations

from pitstop.diagnosis import output
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding


def unknown(evidence: Evidence) -> Finding:
    """An honest "unknown" with what was seen last."""
    ended = evidence.exit
    if ended is None:
        text = "Nothing was recorded about how the script ended."
        seen: tuple[EvidenceItem, ...] = ()
    else:
        how = evidence.signal or f"exit code {ended.exit_code}"
        text = f"The script ended with {how}; nothing that was recorded explains it."
        seen = (EvidenceItem("exit status", how),)
    lines = output.last_lines(evidence.output, 5)
    said = (EvidenceItem("output", "\n".join(lines)),) if lines else ()
    advice = ("Run it again under `pitstop run` with `python -X faulthandler`.",)
    return Finding("unknown", 0.2, text, (*seen, *said), advice)
