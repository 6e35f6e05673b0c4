"""The vocabulary of a run: everything that happens, as frozen values.

The trainer, the supervisor, the persister, the journal, the diagnosis and the
reports all speak in these types.  Field names carry their units; times are
seconds since the epoch, stamped by the journal when the event is written.

This module is imported inside the trainer: standard library only.
"""

from pitstop.events.attempts import *
from pitstop.events.base import Event, JsonValue, UnknownEvent, from_record, to_record
from pitstop.events.checkpoints import *
from pitstop.events.clusters import *
from pitstop.events.supervision import *
from pitstop.events.training import *
