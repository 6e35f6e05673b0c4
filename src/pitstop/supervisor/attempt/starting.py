"""The processes of an attempt, started before the code that supervises them is loaded."""

from __future__ import annotations

from pitstop.errors import PitstopError
from pitstop.observation.observer import Observer
from pitstop.record import record
from pitstop.supervisor.attempt.plan import AttemptPlan, StartResources
from pitstop.supervisor.processes.adopted_process import AdoptedProcess
from pitstop.supervisor.processes.trainer_process import TrainerProcess


@record
class RunningCommand:
    """The command's main process, and what is observed of it from its start on."""

    main: TrainerProcess | AdoptedProcess
    observer: Observer


def start(plan: AttemptPlan, resources: StartResources) -> RunningCommand:
    """Starts the persister, and the command, or watches the script that asked to be supervised.

    Raises `CommandNotExecutable`, and `EnvironmentFault` where the kernel refuses a process.
    """
    resources.resize()
    # It loads the newest checkpoint beside the script's imports.
    resources.persister.start()
    try:
        main = _main_process(plan, resources)
    except PitstopError:
        resources.persister.finish()
        raise
    # At once: what happens before it looks first is not seen.
    observer = Observer(main.pid)
    resources.tee.started()
    resources.persister.set_trainer(main.pid)
    return RunningCommand(main, observer)


def _main_process(plan: AttemptPlan, resources: StartResources) -> TrainerProcess | AdoptedProcess:
    if plan.request.trainer_pid:
        return AdoptedProcess(plan.request.trainer_pid)
    return TrainerProcess(
        plan.program,
        plan.request.command,
        plan.environment,
        resources.tee.streams,
        resources.signals.original_mask,
    )
