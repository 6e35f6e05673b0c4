"""`pitstop.keras.Callback`: a `fit` under Pitstop without `pitstop run`."""

import importlib
import os
from typing import TYPE_CHECKING, Any, Literal

from pitstop.engine.connection.companion import CompanionRequest, start_companion
from pitstop.engine.files import attempt_records
from pitstop.engine.session import process_session
from pitstop.keras.callbacks import stop_training
from pitstop.keras.common_private import model_variables
from pitstop.keras.instrumentation import of_process
from pitstop.keras.packages import KERAS_2, KERAS_3, hooks_of, imported
from pitstop.link.settings import ENV_SOCKET, Settings
from pitstop.tensorflow import private as tensorflow_private
from pitstop.tensorflow.devices import computed_with
from pitstop.tensorflow.variables.naming import value_of
from pitstop.tensorflow.variables.variables import REGISTRY

if TYPE_CHECKING:
    from keras.callbacks import Callback as _Callback
else:
    # Of the package that the script has imported; of Keras 3 where that are both, or none.
    _PACKAGE = KERAS_2 if imported() == (KERAS_2,) else KERAS_3
    _Callback = importlib.import_module(_PACKAGE).callbacks.Callback


class Callback(_Callback):
    """Puts every `fit` of the process that follows under Pitstop.

    The fits are counted: give it to the first one that is to be resumed, and
    those after it belong to the same run.  A stop (Ctrl-C, SIGTERM, `pitstop
    stop`, a time limit) ends the script at a step boundary with code 75; the
    same script goes on there.  Under `pitstop run` it does nothing: the
    launcher's run folder and options hold.

        model.fit(x, y, epochs=9, callbacks=[pitstop.keras.Callback("runs/cnn")])
    """

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        *,
        overhead: float = 0.01,
        every_steps: int = 0,
        every_seconds: float = 0.0,
        max_seconds: float | None = None,
        on_stop: Literal["exit", "return"] = "exit",
    ) -> None:
        """Starts a supervisor beside the script, the first time.

        Args:
            run_dir: the run's folder, made when missing.
            overhead: share of the training time that Pitstop may cost.
            every_steps: steps between durable checkpoints, 0 for automatic.
            every_seconds: seconds between durable checkpoints, 0 for automatic.
            max_seconds: stop, saved, before so much time has passed; None asks
                the scheduler's environment, 0 for no limit.
            on_stop: what a stop does once the state is saved: "exit" ends the
                script with code 75, "return" ends the `fit`, see `pitstop.stopped`.

        Raises:
            RunUnavailable: the folder is in use, unwritable, or of another format.
            UnsupportedVersion: this Keras or TensorFlow lacks a hook point.
        """
        super().__init__()
        if not os.environ.get(ENV_SOCKET):
            returns = on_stop == "return"
            settings = Settings(overhead, every_steps, every_seconds, stop_returns=returns)
            _attach(CompanionRequest(run_dir, settings, max_seconds))

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        REGISTRY.adopt(map(value_of, model_variables(model)))


def _attach(request: CompanionRequest) -> None:
    adapters = [hooks_of(each) for each in imported()]
    tensorflow_private.check()
    for adapter in adapters:
        adapter.check()
    REGISTRY.install()
    socket_path = start_companion(request)
    session = process_session.open_session(socket_path, computed_with(), stop_training.callback_of)
    session.snapshots.alone = True
    attempt_records.watch(session.attempt_dir)
    for adapter in adapters:
        adapter.install(of_process(socket_path))
