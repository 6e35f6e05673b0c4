"""What a command runs, without the ways to say it that change nothing.  Pure."""

import enum
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from pitstop.record import Frozen

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_ENV = "env"
_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?$")
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
# Options of Python that change what a script does; all others change how it is shown.
_TELLING = frozenset("OEIsSPx")
_LONG_WITH_VALUE = "--check-hash-based-pycs"
_NOTEBOOK = "kernel_launcher"
_UNFIT = re.compile(r"[^\w.-]+")


class _WrapperForm(Frozen):
    """How a wrapper is called: options that take a value, words before the program."""

    valued: frozenset[str] = frozenset()
    words: int = 0


_FORMS: Mapping[str, _WrapperForm] = {
    _ENV: _WrapperForm(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "chrt": _WrapperForm(frozenset({"-T", "-P", "-D"}), words=1),
    "ionice": _WrapperForm(frozenset({"-c", "--class", "-n", "--classdata"})),
    "nice": _WrapperForm(frozenset({"-n", "--adjustment"})),
    "nohup": _WrapperForm(),
    "setsid": _WrapperForm(),
    "stdbuf": _WrapperForm(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "taskset": _WrapperForm(words=1),
    "time": _WrapperForm(frozenset({"-f", "--format", "-o", "--output"})),
    "timeout": _WrapperForm(frozenset({"-k", "--kill-after", "-s", "--signal"}), words=1),
}


def unwrapped(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command that the wrappers start, and the variables that `env` sets, in order of name."""
    variables: dict[str, str] = {}
    rest = list(words)
    while rest and (form := _FORMS.get(PurePath(rest[0]).name)):
        inner = _behind_options(rest, form)
        while PurePath(rest[0]).name == _ENV and inner and _ASSIGNMENT.match(inner[0]):
            name, _, value = inner.pop(0).partition("=")
            variables[name] = value
        if not inner:
            break
        rest = inner
    return tuple(rest), tuple(f"{name}={value}" for name, value in sorted(variables.items()))


def _behind_options(words: Sequence[str], form: _WrapperForm) -> list[str]:
    index = 1
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        index += 2 if word in form.valued else 1
        if word == "--":
            break
    return list(words[index + form.words :])


class InvocationKind(enum.Enum):
    """What a command starts; the value is its name for users."""

    SCRIPT = "script"
    MODULE = "module"
    CODE = "program text"
    PROGRAM = "program"


class Invocation(Frozen):
    kind: InvocationKind
    target: str  # the path of the script as given, the name of the module or program, or code
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # of the interpreter, if they change what the script does
    variables: tuple[str, ...] = ()


def is_python_program(word: str) -> bool:
    return bool(_PYTHON.match(PurePath(word).name))


def parse(command: Sequence[str]) -> Invocation:
    """The parts of a command: neither its wrappers nor the path of its interpreter count."""
    words, variables = unwrapped(command)
    if is_python_program(words[0]):
        return _of_python(words[1:], variables)
    if PurePath(words[0]).name in _SHELLS:
        return _of_shell(words, variables)
    kind = InvocationKind.SCRIPT if "/" in words[0] else InvocationKind.PROGRAM
    return Invocation(kind, words[0], tuple(words[1:]), variables=variables)


def _of_python(words: Sequence[str], variables: tuple[str, ...]) -> Invocation:
    rest, options = list(words), []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word.startswith("--"):
            del rest[: 1 if word == _LONG_WITH_VALUE else 0]
            continue
        telling, ending, value = _short_options(word[1:])
        options += telling
        if ending and not value and rest:
            value = rest.pop(0)
        if ending in ("c", "m"):
            kind = InvocationKind.CODE if ending == "c" else InvocationKind.MODULE
            return Invocation(kind, value, _lasting(value, rest), tuple(options), variables)
    target = rest.pop(0) if rest else ""
    return Invocation(
        InvocationKind.SCRIPT, target, _lasting(target, rest), tuple(options), variables
    )


def _short_options(letters: str) -> tuple[list[str], str, str]:
    """The options that matter; the one that takes a value; the beginning of its value."""
    for index, letter in enumerate(letters):
        if letter in "cmWX":
            telling = [each for each in letters[:index] if each in _TELLING]
            return telling, letter, letters[index + 1 :]
    return [each for each in letters if each in _TELLING], "", ""


def _lasting(target: str, arguments: Sequence[str]) -> tuple[str, ...]:
    return () if _NOTEBOOK in target else tuple(arguments)


def _of_shell(words: Sequence[str], variables: tuple[str, ...]) -> Invocation:
    index = next((i for i in range(1, len(words)) if not words[i].startswith("-")), len(words))
    if index == len(words) or any("c" in word and word[:2] != "--" for word in words[1:index]):
        shell = PurePath(words[0]).name
        return Invocation(InvocationKind.PROGRAM, shell, tuple(words[1:]), variables=variables)
    return Invocation(
        InvocationKind.SCRIPT, words[index], tuple(words[index + 1 :]), variables=variables
    )


def is_python(command: Sequence[str]) -> bool:
    words, _ = unwrapped(command)
    return is_python_program(words[0]) or words[0].endswith(".py")


def run_name(command: Sequence[str]) -> str:
    invocation = parse(command)
    if invocation.kind is InvocationKind.MODULE:
        return _fit(invocation.target.rpartition(".")[2])
    if invocation.kind is InvocationKind.CODE:
        return "python"
    # A launcher of another kind: its script names the run better than it does.
    scripts = [word for word in (invocation.target, *command) if word.endswith(".py")]
    return script_name(scripts[0] if scripts else invocation.target)


def script_name(word: str) -> str:
    return _fit(PurePath(word).stem if word.endswith((".py", ".sh")) else PurePath(word).name)


def _fit(name: str) -> str:
    return _UNFIT.sub("-", name).strip("-.") or "run"
