"""`pitstop completion`."""

import click
from click.shell_completion import shell_complete

_SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\b
bash: eval "$(pitstop completion bash)"        in ~/.bashrc
zsh:  eval "$(pitstop completion zsh)"         in ~/.zshrc
fish: pitstop completion fish | source         in ~/.config/fish/config.fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the code that enables completion in SHELL.

    SHELL then completes commands, options and the names of runs.
    """
    command = context.find_root().command
    shell_complete(command, {}, "pitstop", "_PITSTOP_COMPLETE", f"{shell}_source")
