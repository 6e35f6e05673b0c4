"""`pitstop.start`: puts a script's own training loop under Pitstop."""

from __future__ import annotations

import os
from typing import Any, Literal

from pitstop.engine import process_session
from pitstop.engine.companion import CompanionRequest, start_companion
from pitstop.engine.export_order import refuse_to_train
from pitstop.engine.session import Session
from pitstop.errors import ResumeRefused, UserError
from pitstop.events import Notice
from pitstop.link.beacon import Phase
from pitstop.link.settings import ENV_SOCKET, Settings
from pitstop.loop.loop_state import LoopState
from pitstop.loop.run import Run
from pitstop.loop.trainables import begin_loop, export_loop
from pitstop.tensorflow import private
from pitstop.tensorflow.devices import computed_with, level_of_process
from pitstop.tensorflow.traced_ops import OpKind
from pitstop.tensorflow.variables import REGISTRY


def start(
    run_dir: str | os.PathLike[str],
    *,
    overhead: float = 0.01,
    every_steps: int = 0,
    every_seconds: float = 0.0,
    max_seconds: float | None = None,
    on_stop: Literal["exit", "return"] = "exit",
    **objects: Any,
) -> Run:
    """Begins or continues a run; if there is something to restore, it is restored here.

    Under `pitstop run` the launcher's run folder and options hold; otherwise a
    supervisor is started beside the script.  Fits inside of the loop belong to
    its steps.

    Args:
        run_dir: the run's folder, made when missing, or the URL of its mirror.
        overhead: share of the training time that Pitstop may cost.
        every_steps: steps between durable checkpoints, 0 for automatic.
        every_seconds: seconds between durable checkpoints, 0 for automatic.
        max_seconds: stop, saved, before so much time has passed; None asks the
            scheduler's environment, 0 for no limit.
        on_stop: what a stop does once the state is saved: "exit" ends the
            script with code 75, "return" ends the loop.
        objects: what the loop changes, by name: variables, modules, models,
            optimizers, metrics, `tf.data` iterators, random generators, dicts,
            lists, arrays, or objects with state_dict() and load_state_dict().

    Raises:
        CannotTrack: an object can be neither read nor set in place.
        RunUnavailable: the folder is in use, unwritable, or of another format.
        ResumeRefused: the saved state does not fit the objects.
        UserError: the process has a run already.
    """
    if process_session.current() is not None:
        raise UserError(
            "This process already has a run.", "Call pitstop.start once, before any training."
        )
    private.check()
    REGISTRY.install()
    state = LoopState(objects, REGISTRY)
    returns = on_stop == "return"
    settings = Settings(overhead, every_steps, every_seconds, stop_returns=returns)
    socket_path = os.environ.get(ENV_SOCKET)
    alone = not socket_path
    request = CompanionRequest(run_dir, settings, max_seconds)
    session = process_session.open_session(socket_path or start_companion(request), computed_with())
    session.snapshots.alone, session.trains_with_fit = alone, False
    # A member of several that train together is not more exact than they are.
    level = level_of_process(session)
    state.doubt(level.reason if level is not None else "")
    private.on_traced_op({OpKind.RANDOM: state.hidden_random_op})
    run = Run(session, state, returns=returns or session.settings.stop_returns)
    if session.settings.export_to:
        point = session.trainings.newest
        if point is None:
            refuse_to_train(session, 0)
        export_loop(session, state, objects, session.fetch(point))
    elif session.start_from():
        begin_loop(session, objects)
    else:
        _restore(session, run)
    return run


def _restore(session: Session, run: Run) -> None:
    point = session.trainings.newest
    if point is None:
        return
    session.beacon.write_phase(Phase.RESTORING)
    try:
        run.restore(session.fetch(point))
    except ResumeRefused as refusal:
        session.report(Notice("resume_refused", refusal.message, refusal.remedy))
        raise
