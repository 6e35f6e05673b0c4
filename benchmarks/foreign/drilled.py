"""One script: undisturbed, killed under `pitstop run`, and resumed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.integration.programs.runner import level_of
from tests.integration.programs.verdict import Ended, Verdict, judge
from tests.integration.supervisor import launch

SEEDED = Path(__file__).with_name("seeded_script.py")
LONGEST_SECONDS = 900.0

Words = tuple[str, ...]


@dataclass(frozen=True)
class Drilled:
    """What came of a script.

    Attributes:
        name: of the script.
        outcome: the verdict, or why there is none.
        said: the level of the resumed run and what is missing, or the first difference.
    """

    name: str
    outcome: str
    said: str = ""


@dataclass(frozen=True)
class Bench:
    """Where and with what scripts are run.

    Attributes:
        base: its `home` has the data sets; each script gets folders of its own in it.
        python: what a script is run with.
        pitstop: what `pitstop` is called by.
        packages: a folder of what else scripts import.
        step: where the script is killed.
    """

    base: Path
    python: Words
    pitstop: Words
    packages: Path | None
    step: int

    def drill(self, script: Path) -> Drilled:
        """One script, three times."""
        name, command = script.stem, (*self.python, str(SEEDED), str(script))
        plain = self._call(name, "plain", *command)
        if plain.code != 0:
            return Drilled(name, "fails by itself", plain.output.strip()[-300:])
        ending = (f"--every={max(1, self.step // 4)}steps", f"--die-at-step={self.step}")
        cut = self._call(name, "interrupted", *self._supervised(*ending), *command)
        level = level_of(self._folder(name, "interrupted"))
        if cut.code == 0 and not level.level:
            return Drilled(name, "does not train")
        back = self._call(name, "interrupted", *self._supervised(), *command)
        level = level_of(self._folder(name, "interrupted"))
        verdict = judge([plain], [cut], back, level, reproducible=self._repeats(name, plain, back))
        said = f"{level.level} {level.missing}".strip()
        if verdict is not Verdict.IDENTICAL:
            said = f"code {back.code}; {said}; {_difference(plain, back)}"
        return Drilled(name, verdict.value, said)

    def _repeats(self, name: str, plain: Ended, back: Ended) -> bool:
        if back.finals == plain.finals:
            return True
        command = (*self.python, str(SEEDED), str(self.base / f"{name}.py"))
        return self._call(name, "again", *command).finals == plain.finals

    def _supervised(self, *options: str) -> Words:
        return (*self.pitstop, "run", "--no-status-line", "--run-dir", "run", *options, "--")

    def _folder(self, name: str, kind: str) -> Path:
        return self.base / name / kind

    def _call(self, name: str, kind: str, *words: str) -> Ended:
        folder = self._folder(name, kind)
        folder.mkdir(parents=True, exist_ok=True)
        ended = subprocess.run(
            words,
            cwd=folder,
            env={**launch.environment(), **self._environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        output = ended.stdout.decode(errors="replace")
        with (folder / "output.log").open("a") as log:
            log.write(output)
        return Ended(ended.returncode, output)

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.base / "home"),
            "MPLBACKEND": "agg",
            "PYTHONHASHSEED": "0",
            "FOREIGN_PACKAGES": os.fspath(self.packages or ""),
        }


def _difference(expected: Ended, actual: Ended) -> str:
    lost = [line for line in expected.finals if line not in actual.finals]
    return f"{len(lost)} of {len(expected.finals)} results differ: {', '.join(lost[:3])}"
