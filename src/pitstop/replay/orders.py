"""What a loop that is only recorded cannot be asked for."""

from __future__ import annotations

from pitstop.engine.refused import refuse_start
from pitstop.engine.session import Session
from pitstop.engine.weights_file import WeightsUnusable


def refuse_orders(session: Session) -> None:
    """Raises `Refused` where a recorded loop was to begin with saved weights.

    The first training of the process is such a loop, which is known after its first step only.
    """
    if session.start_from():
        refuse_start(
            session,
            WeightsUnusable(
                "A loop that is only recorded is known after its first step: "
                "too late for --from to give it weights.",
                "Load them in the script, or name its objects in pitstop.start.",
            ),
        )
