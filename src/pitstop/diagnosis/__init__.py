"""Why a run ended: pure rules over what was recorded."""

from pitstop.diagnosis.engine import diagnose
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CAUSES, CauseId, ChainLink, Diagnosis, EvidenceItem, Finding
