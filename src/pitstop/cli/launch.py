"""`pitstop launch`."""

import copy
import os
import secrets
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from signal import Signals

import click

from pitstop.cli.places import PLACE
from pitstop.cli.quantities import SECONDS
from pitstop.cli.run import run
from pitstop.cluster import secret
from pitstop.cluster.cluster_link import LINGER_SECONDS, LINGER_VARIABLE
from pitstop.launch.choice import choose, claim
from pitstop.launch.member_process import Terminal
from pitstop.launch.plan import plan, ports_needed
from pitstop.launch.runner import LaunchRequest, free_ports, launch_members
from pitstop.remote.place import RemotePlace
from pitstop.store.gang_folder import MOST_OF_A_KIND, Shape
from pitstop.supervisor.processes.process import find_program
from pitstop.supervisor.stops import early_stop
from pitstop.supervisor.stops.signals import Action

_OWN = (
    "run_dir",
    "local_dir",
    "new",
    "no_status_line",
    "launcher_pid",
    "command",
    "cluster",
    "stopped_code",
    "help_all",
)
_USED_HERE = ("grace", "signals", "take", "force")
_EPILOG = """\b
Options of `pitstop run` apply to each member:
  pitstop launch --workers 2 --ps 1 --every 500steps -- python train.py --lr 0.1

\b
Exit codes:
  0    all members completed
  75   stopped; run the same command again to resume
  2    usage error, or the folder belongs to other members or another command
  else exit code of the leader, or of the member that failed first
"""


class _Launch(click.Command):
    """Also takes the options of `pitstop run`, and passes them on as they were written."""

    def __init__(self, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self._of_members = [_hidden(each) for each in run.params if each.name not in _OWN]
        self.params[-1:-1] = self._of_members

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        given = [each for each in dict.fromkeys(order) if each in self._of_members]
        ctx.obj = [word for each in given for word in _words(each, values[each.name])]
        return super().parse_args(ctx, args)


def _hidden(option: click.Parameter) -> click.Parameter:
    copied = copy.copy(option)
    copied.expose_value = option.name in _USED_HERE
    if isinstance(copied, click.Option):
        copied.hidden = True
    return copied


def _words(option: click.Parameter, value: object) -> list[str]:
    """The option as on the command line, repeated for each of its values."""
    name = option.opts[-1]
    if isinstance(option, click.Option) and option.is_flag:
        return [name]
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (name, str(each))]


_Count = click.IntRange(0, MOST_OF_A_KIND)


@click.command(cls=_Launch, context_settings={"allow_interspersed_args": False}, epilog=_EPILOG)
@click.option("--workers", type=_Count, required=True, help="Number of workers.")
@click.option("--ps", type=_Count, default=0, help="Number of parameter servers.  [default: 0]")
@click.option(
    "--chief/--no-chief",
    default=None,
    help="Start a chief.  [default: only with parameter servers]",
)
@click.option("--evaluator", is_flag=True, help="Start a task that evaluates during training.")
@click.option(
    "--run-dir",
    type=PLACE,
    metavar="FOLDER",
    help="Folder for the runs of all members: RUN/members/worker-0 and so on.  [default: "
    "runs/<script name>, chosen as by `pitstop run`]",
)
@click.option("--new", is_flag=True, help="Rename an existing folder (RUN.1, ...) and start over.")
@click.option(
    "--linger",
    type=SECONDS,
    default=LINGER_SECONDS,
    help="Maximum time for the other members to end after the leader has ended.  [default: 30s]",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def launch(
    context: click.Context,
    *,
    workers: int,
    ps: int,
    chief: bool | None,
    evaluator: bool,
    run_dir: Path | RemotePlace | None,
    new: bool,
    linger: float,
    grace: float,
    signals: Sequence[tuple[Signals, Action]],
    take: Sequence[str],
    force: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND as each member of a cluster on this machine.

    Each member is an ordinary run with its own TF_CONFIG; each line of its output
    starts with its name.  The chief is the leader, or worker 0 without a chief.  Ctrl-C
    stops all, a second Ctrl-C immediately.  The same command again resumes.
    """
    find_program(command)
    shape = _shape(workers, ps, evaluator=evaluator, chief=bool(ps) if chief is None else chief)
    terminal = Terminal()
    if isinstance(run_dir, RemotePlace):
        raise click.UsageError("A launch cannot have a mirror: give a folder with --run-dir.")
    path = run_dir or _chosen(command, shape, terminal)
    gang, lock = claim(path, shape, command, new=new, takes=bool(take) or force)
    with closing(lock):
        request = LaunchRequest(
            members=plan(gang.shape, free_ports(ports_needed(shape)), gang.path),
            command=command,
            options=tuple(context.obj),
            environment=_environment(linger),
            linger_seconds=linger,
            grace_seconds=grace,
            signals=dict(signals),
        )
        code = launch_members(request, terminal)
    early_stop.ignore_signals()
    context.exit(code)


def _environment(linger: float) -> dict[str, str]:
    own = {secret.VARIABLE: secrets.token_hex(32), LINGER_VARIABLE: str(linger)}
    return {"PYTHONUNBUFFERED": "1", **os.environ, **own}


def _shape(workers: int, ps: int, *, chief: bool, evaluator: bool) -> Shape:
    if not workers and not chief:
        raise click.UsageError("No member would train: give --workers or --chief.")
    return Shape(chief=int(chief), worker=workers, ps=ps, evaluator=int(evaluator))


def _chosen(command: Sequence[str], shape: Shape, terminal: Terminal) -> Path:
    choice = choose(command, shape)
    terminal.say(choice.line)
    return choice.path
