"""A new run whose first `fit` begins with saved weights."""

from __future__ import annotations

from pitstop.engine.weights_file import STARTED_FROM, WeightsUnusable
from pitstop.events import Notice
from pitstop.keras.fit_run import FitRun
from pitstop.keras.packages import private_of
from pitstop.keras.trainables import of_model
from pitstop.tensorflow.starting import begin_from


def build(run: FitRun) -> None:
    """Creates the variables of the model and its optimizer, which a file may have values for.

    In every attempt of such a run, also where the file is not read any more:
    variables are known by the order of their creation.
    """
    private_of(run.model).build_symbolically(run.model, run.epoch_iterator)


def begin(run: FitRun) -> None:
    """Loads the weights that the run is to begin with, before its first step.

    Raises:
        Refused: they do not fit; the journal says which.
    """
    path = run.session.start_from()
    try:
        begun = begin_from(path, of_model(run.model))
    except WeightsUnusable as problem:
        run.session.refuse(problem, "weights_refused")
    run.session.report(Notice(STARTED_FROM, begun.describe(path)))
