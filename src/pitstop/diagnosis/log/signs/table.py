"""All signs, by who prints them."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.kernel import KERNEL
from pitstop.diagnosis.log.signs.native import NATIVE
from pitstop.diagnosis.log.signs.schedulers import SCHEDULERS
from pitstop.diagnosis.log.signs.sign import Sign
from pitstop.diagnosis.log.signs.statuses import STATUSES
from pitstop.diagnosis.log.signs.training import TRAINING

SIGNS: tuple[Sign, ...] = (*SCHEDULERS, *KERNEL, *NATIVE, *TRAINING, *STATUSES)
