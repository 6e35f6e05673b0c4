"""Where a training stands still, from the stacks of its threads and the kernel's word.  Pure."""

from collections.abc import Sequence

from pitstop.link.beacon import Phase
from pitstop.observation.thread_facts import ThreadFact
from pitstop.record import Frozen
from pitstop.supervisor.hangs.stack_dump import Stack, StackFrame

_MOST_FRAMES = 12
_STOPPED, _TRACED, _DEVICE = "T", "t", "D"

# Parts of paths that tell what the calls around them are for.
_DEBUGGERS = ("/pdb.py", "/bdb.py", "/ipdb/", "/pudb/", "/pydevd", "/debugpy/")
_NOTEBOOKS = ("/ipykernel/kernelapp.py", "/IPython/terminal/", "/code.py")
_INPUT = (
    "/data_adapters/",
    "tensorflow/python/data/",
    "tensorflow/python/ops/script_ops.py",
    "/grain/",
)
_CALLBACKS = "keras/src/callbacks/"
_CALLBACK_LIST = "callback_list.py"
_SAVING = ("pitstop/engine/snapshots/copier.py", "pitstop/snapshot/")
_TERMINAL = ("/dev/pts/", "/dev/tty")


class HangEvidence(Frozen):
    """What was found when the silence had become too long; the main thread comes first."""

    phase: Phase
    stacks: tuple[Stack, ...] = ()
    threads: tuple[ThreadFact, ...] = ()
    dead_workers: tuple[str, ...] = ()


class Standstill(Frozen):
    """What a training without progress does, and the calls that show it, innermost first."""

    doing: str  # as in `events.TrainingStalled`; or "person": in a debugger or at a terminal
    place: str
    frames: tuple[StackFrame, ...] = ()


def judge(evidence: HangEvidence) -> Standstill:
    main = evidence.stacks[0] if evidence.stacks else Stack(())
    found = (
        _person(evidence, main)
        or _stopped(evidence)
        or _device(evidence)
        or _exit(evidence, main)
        or _saving(evidence, main)
        or _callback(main)
        or _dead_worker(evidence)
        or _input(evidence)
        or _elsewhere(evidence, main)
    )
    frames = found.frames or main.frames
    return Standstill(found.doing, found.place, frames[:_MOST_FRAMES])


def _person(evidence: HangEvidence, main: Stack) -> Standstill | None:
    if main.has(*_DEBUGGERS):
        return Standstill("person", "in a debugger")
    runs_nothing = bool(evidence.stacks) and not main.frames
    is_prompt = runs_nothing or main.has(*_NOTEBOOKS)
    if evidence.phase in (Phase.STARTING, Phase.BETWEEN_FITS) and is_prompt:
        return Standstill("person", "at a prompt")
    first = evidence.threads[0] if evidence.threads else None
    if first and first.file.startswith(_TERMINAL) and first.state == "S":
        return Standstill("person", "waiting for the terminal")
    return None


def _stopped(evidence: HangEvidence) -> Standstill | None:
    first = evidence.threads[0] if evidence.threads else None
    if first is None or first.state not in (_STOPPED, _TRACED):
        return None
    how = "by SIGSTOP or job control" if first.state == _STOPPED else "by a debugger"
    return Standstill("stopped", f"the process was stopped {how}; `kill -CONT {first.tid}`")


def _dead_worker(evidence: HangEvidence) -> Standstill | None:
    feeding = evidence.phase in (Phase.FIRST_STEP, Phase.TRAIN, Phase.VALIDATION, Phase.PREDICT)
    if not evidence.dead_workers or not feeding:
        return None
    names = "; ".join(evidence.dead_workers)
    waiting = _threads_in_the_input(evidence.stacks)
    frames = waiting[0].frames if waiting else ()
    return Standstill("worker", f"it waits for a dead data worker: {names}", frames)


def _device(evidence: HangEvidence) -> Standstill | None:
    stuck = next((each for each in evidence.threads if each.state == _DEVICE), None)
    if stuck is None:
        return None
    where = stuck.file or (f"the kernel's {stuck.channel}" if stuck.channel else "a device")
    return Standstill("disk", f"a thread waits for {where} and cannot be interrupted (state D)")


def _exit(evidence: HangEvidence, main: Stack) -> Standstill | None:
    # The interpreter waits for the script's threads before it tells that it ends.
    joins = bool(main.frames) and main.frames[-1].function == "_shutdown"
    if evidence.phase is not Phase.ENDED and not joins:
        return None
    others = next((each.users_frame for each in evidence.stacks[1:] if each.users_frame), None)
    return Standstill("exit", f"the script has ended, but one of its threads has not{_at(others)}")


def _saving(evidence: HangEvidence, main: Stack) -> Standstill | None:
    if evidence.phase is Phase.RESTORING:
        return Standstill("restore", f"saved state is being restored{_at(main.users_frame)}")
    if evidence.phase is Phase.SAVING or main.has(*_SAVING):
        return Standstill("save", "a checkpoint is being taken")
    return None


def _callback(main: Stack) -> Standstill | None:
    frames = main.frames
    index = next((i for i, each in enumerate(frames) if each.file.endswith(_CALLBACK_LIST)), 0)
    inside = frames[:index]
    if not inside or inside[-1].file.endswith("trainer.py"):
        return None
    # Keras' own callbacks call the user's functions (LambdaCallback, a schedule).
    users = next((frame for frame in inside if frame.is_users), None)
    shown = users or next((frame for frame in inside if _CALLBACKS in frame.file), inside[-1])
    return Standstill("callback", f"in a callback{_at(shown)}", inside)


def _input(evidence: HangEvidence) -> Standstill | None:
    waiting = _threads_in_the_input(evidence.stacks)
    if not waiting:
        return None
    users = next((stack.users_frame for stack in waiting if _own_input(stack)), None)
    return Standstill("input", f"it waits for its input{_at(users)}", waiting[0].frames)


def _threads_in_the_input(stacks: Sequence[Stack]) -> list[Stack]:
    """The threads whose calls deliver batches; those in the user's own code first."""
    inside = [stack for stack in stacks if stack.has(*_INPUT)]
    deliver = [stack for stack in inside if not _only_draws(stack)]
    return sorted(deliver, key=lambda stack: not _own_input(stack))


def _only_draws(stack: Stack) -> bool:
    """Whether a step computes: the frameworks' loop over the input is around every step."""
    inner = stack.frames[0]
    computes = "tensorflow/python/eager/" in inner.file or not inner.is_in(_INPUT)
    drawn = next((i for i, each in enumerate(stack.frames) if each.is_in(_INPUT)), 0)
    return computes and any("trainer.py" in each.file for each in stack.frames[:drawn])


def _own_input(stack: Stack) -> bool:
    """Whether the input calls the user's code, not the other way round."""
    first = next((i for i, each in enumerate(stack.frames) if each.is_in(_INPUT)), 0)
    return any(frame.is_users for frame in stack.frames[:first])


def _elsewhere(evidence: HangEvidence, main: Stack) -> Standstill:
    at = _at(main.users_frame)
    if evidence.phase in (Phase.STARTING, Phase.BETWEEN_FITS):
        return Standstill("script", f"in the script, outside a training{at}")
    what = "the first step" if evidence.phase is Phase.FIRST_STEP else "a step"
    where = "validation" if evidence.phase is Phase.VALIDATION else what
    return Standstill("step", f"in {where}, waiting or computing{at}")


def _at(frame: StackFrame | None) -> str:
    return f" at {frame}" if frame else ""
