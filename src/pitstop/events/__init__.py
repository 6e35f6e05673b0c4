"""The events of a run, as frozen values; imported inside the trainer: standard library only."""

from pitstop.events.attempts import *
from pitstop.events.base import Event, JsonValue, UnknownEvent, from_record, to_record
from pitstop.events.checkpoints import *
from pitstop.events.clusters import *
from pitstop.events.supervision import *
from pitstop.events.training import *
