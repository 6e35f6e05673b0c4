"""`pitstop diagnose`."""

import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from pitstop import report
from pitstop.cli.output_formats import OutputFormats, deliver, report_forms
from pitstop.cli.quantities import Quantity
from pitstop.exit_codes import EXIT_SIGNALLED


def parse_signal(text: str) -> str:
    try:
        if text.isdigit():
            return signal.Signals(int(text)).name
        return signal.Signals["SIG" + text.upper().removeprefix("SIG")].name
    except (KeyError, ValueError):
        raise ValueError(f"{text} is not a signal") from None


_SIGNAL = Quantity("signal", parse_signal)


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--exit-code", type=click.IntRange(0, 255), help="Its exit code (`echo $?`).")
@click.option("--signal", "signal_name", type=_SIGNAL, help="Signal that killed it: 9, SIGKILL.")
@report_forms
def diagnose(
    log: Path, *, exit_code: int | None, signal_name: str | None, forms: OutputFormats
) -> None:
    """Explain why a training stopped, from its LOG alone.

    For trainings that did not run under Pitstop.  Lists what a log cannot show.
    Give - as LOG to read standard input.
    Give the exit code or the signal if you know it: it helps a lot.
    """
    if exit_code is not None and signal_name is not None:
        raise click.UsageError("--exit-code and --signal cannot be used together.")
    code, name = ending_of(exit_code, signal_name or "")
    if str(log) != "-":
        return deliver(report.why_log(log, exit_code=code, signal=name), None, forms)
    with tempfile.NamedTemporaryFile(prefix="pitstop-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        found = report.why_log(Path(file.name), exit_code=code, signal=name)
    return deliver(replace(found, name="standard input"), None, forms)


def ending_of(exit_code: int | None, signal_name: str) -> tuple[int | None, str]:
    """The exit code and the signal; a shell reports a signal as an exit code above 128."""
    numbers = {each.value for each in signal.Signals}
    if exit_code is None or exit_code - EXIT_SIGNALLED not in numbers:
        return exit_code, signal_name
    return None, signal.Signals(exit_code - EXIT_SIGNALLED).name
