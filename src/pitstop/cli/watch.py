"""`pitstop watch`."""

from pathlib import Path

import click

from pitstop.cli.chosen_run import find_run, runs_of_script
from pitstop.cli.echo import tell
from pitstop.cli.places import RUN
from pitstop.errors import EnvironmentFault, RunNotFound, UserError
from pitstop.supervisor.runs.choice import RUNS
from pitstop.watch import terminal_view
from pitstop.watch.server import PageServer, serve

_ANY_PORT = "127.0.0.1:0"


@click.command()
@click.argument("run", type=RUN, required=False, metavar="[RUN|FOLDER]")
@click.option(
    "--http",
    "address",
    is_flag=False,
    flag_value=_ANY_PORT,
    metavar="ADDRESS",
    help=f"Serve a web page at this address.  [without an address: {_ANY_PORT}, a free port]",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Host name of a proxy that shows the page, such as a JupyterHub.",
)
def watch(run: Path | None, address: str | None, names: tuple[str, ...]) -> None:
    """Watch RUN, or all runs under FOLDER (default: runs/), live.

    In this terminal, or on a web page.  A page on loopback has buttons; on any
    other address it is read-only.
    """
    root = _root(run)
    if address is None:
        terminal_view.watch(root)
        return
    host, port = _split(address)
    try:
        server = PageServer(root, host, port, frozenset(each.lower() for each in names))
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentFault(
            f"Cannot listen on {address}: {reason}.", "Give another address with --http."
        ) from error
    tell(server.link)
    serve(server)


def _root(run: Path | None) -> Path:
    if run is None or run.is_dir():
        return run or RUNS
    if not runs_of_script(str(run)):
        raise RunNotFound(f"There is no folder {run}.", "List runs with `pitstop ls`.")
    return find_run(run).path


def _split(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"{address} is not an address.", f"Write it as {_ANY_PORT}.")
    return host.strip("[]") or "127.0.0.1", int(port)
