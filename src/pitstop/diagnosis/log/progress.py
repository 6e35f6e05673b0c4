"""Signs of training that goes on: progress bars, steps, epochs."""

import re
from collections.abc import Sequence
from dataclasses import replace

from pitstop.diagnosis.log.lines import Line
from pitstop.record import Frozen

LOGGED = (
    r"(?:[\w.]+ — )?"
    r"(?:(?:[\w.]+ - )?(?:INFO|DEBUG)(?: - | +(?:[\w.:-]+ +){0,2}?|\W*\[[\w.]+:\d+\]\W*))?"
)
"""What many loggers put before a message, after the time."""
EPOCH = re.compile(
    rf"^[\W_]*{LOGGED}(?:(?:I )?Train(?:ing)? (?:of )?)?(?:[Ee]poch|EPOCH)[ :#=]*"
    r"\[?(?P<epoch>\d+)\]?"
    r"(?:\s*(?:/|of)\s*\[?(?P<epochs>\d+))?"
)
_BAR = re.compile(
    r"(?:^|(?<!\.\d\d% )(?<!\.\d% )[\s|\[(:=])(?P<done>\d+)(?:\s?/\s?| of )(?P<total>\d+)"
    r"(?=$|[\s\]),|\[])"
)
_STEP = re.compile(
    r"\b(?:global[_ ])?(?:step|iter(?:ation)?|batch|it)s?[ :=#]*\[?(?P<done>\d+)"
    r"|^I\d{4} .*loss = [\d.]+, step = (?P<logged>\d+)"
    r"|^\W*Trial (?P<trial>\d+) (?:complete|finished|pruned)\b",
    re.IGNORECASE,
)
_LOOKS_LIKE_TRAINING = re.compile(
    r"loss|acc|━|ETA|it/s|s/it|ms/step|s/step|\d+%\||\]|lr|epoch|step|iter|batch|^\w+ed \d",
    re.IGNORECASE,
)
_MEASURED = re.compile(r"loss|acc|sec|lr|Trial \d", re.IGNORECASE)
_NO_PROGRESS = re.compile(
    r"^\s+File |^\s+at |Error(?![):=\s]*\d)|Warning|Exception|[Rr]etry|[Aa]ttempt"
    r"|^[IWEF] (?!Training of Epoch)|failed|^\s*[#\"'(]|^Epoch \d{5}: "
)
_SHARE = re.compile(r"(?:acc|precision|recall|valid|correct)\w*\W+\d*\.\d+ \($", re.IGNORECASE)
"""How many were right, of how many: `accuracy = 0.67 (1009 / 1499)`."""
_NAN = re.compile(
    r"\b(?:(?:total|train|training|sum|overall|mean|avg|lm|main|reduced_train)_)?loss\b"
    r"[\"']?(?: at [\w ]{1,20})?\s*[:=]\s*-?(?:nan|inf)\b|loss \(?(?:is )?-?nan"
    # losses that go by other names
    r"|^(?!.*loss)(?:.*\b\w+[=:] ?-?nan\b){2}",
    re.IGNORECASE,
)
_METRICS = re.compile(r"(?:[\w)][\"']?[:=] ?-?(?:\d|nan|inf).*){2}", re.IGNORECASE)
_ALONE = re.compile(r"^\W*[\w/]*loss[\"']?: -?nan\W*$")
"""The loss of a dictionary that is printed with one entry a line."""
_FINITE = re.compile(r"\bloss\b[\"']?(?: at [\w ]{1,20})?\s*[:=]\s*\d", re.IGNORECASE)
_WHOLE_EPOCH = re.compile(r"^(?:\d+m?s - )?(?:\w+_)?[Ll]oss: [\d.]")
"""What Keras with `verbose=2`, or a loop of the script, prints of an epoch at its end."""
_TOLD_EPOCH = re.compile(r"(?:loss|acc(?:uracy)?)\b[^:=\d]{0,20}[:= ]\s*\d*\.\d", re.IGNORECASE)
"""What a loop of the script prints after `Epoch 3/3`, when that epoch is over."""
_LAST_ONES = 3
_RESULT_OF_BAR = re.compile(r"\d\[-?\d[\d., e+-]*\]$")
_REST_OF_BAR = re.compile(r"^ - (?:ETA: )?\d")
"""What a notebook puts on a line of its own, where Keras had gone back in the line."""


class LogProgress(Frozen):
    """One line that only a training that goes on prints."""

    # `number`, `group`: of its line
    number: int
    group: str
    state: str  # where the training was; another state means that it went on
    # `epoch`, `epochs`: as printed; None where they are not
    epoch: int | None = None
    epochs: int | None = None
    done: int | None = None
    total: int | None = None
    count: int | None = None  # the epoch, else a step without a total
    # `is_nan`, `is_finite`: what its loss is; neither where none is told
    is_nan: bool = False
    is_finite: bool = False
    is_told: bool = False  # a loop of the script tells there how the epoch went, which is over

    @property
    def is_before_its_end(self) -> bool:
        return self.total is not None and self.done is not None and self.done < self.total


def find(lines: Sequence[Line]) -> tuple[LogProgress, ...]:
    found: list[LogProgress] = []
    for line in lines:
        each = _of(line)
        if each:
            found.append(each)
        elif found and _REST_OF_BAR.match(line.text) and _NAN.search(line.text):
            found[-1] = replace(found[-1], is_nan=True)
    return tuple(found)


def counts(line: Line) -> bool:
    found = _of(line)
    return found is not None and (found.epoch is not None or found.total is not None)


def ended_in_nan(progress: Sequence[LogProgress]) -> bool:
    """The last loss that was told is no number; mixed precision survives one that is none."""
    told = [each for each in progress[-_LAST_ONES:] if each.is_nan or each.is_finite]
    return bool(told) and told[-1].is_nan


def in_last_epoch(progress: Sequence[LogProgress]) -> bool:
    """The last epoch that was printed is the last that was announced; some count from 0."""
    epochs = [each for each in progress if each.epoch is not None and each.epochs]
    if not epochs:
        return False
    first, last = epochs[0].epoch, epochs[-1]
    return last.epoch == last.epochs or (first == 0 and (last.epoch or 0) + 1 == last.epochs)


def ran_to_its_end(progress: Sequence[LogProgress]) -> bool:
    if not in_last_epoch(progress):
        return False
    announced = [at for at, each in enumerate(progress) if each.epoch is not None and each.epochs]
    of_last = progress[announced[-1] :]
    if any(each.epoch not in (None, of_last[0].epoch) for each in of_last):
        return False
    bars = [each for each in of_last if each.total is not None]
    return of_last[-1].is_told or (bool(bars) and not bars[-1].is_before_its_end)


def _of(line: Line) -> LogProgress | None:
    text = line.text[:400]
    is_alone = bool(_ALONE.match(text))
    if not text or line.is_warning or (_NO_PROGRESS.search(text) and not is_alone):
        return None
    is_nan = bool(_NAN.search(text))
    is_finite = not is_nan and bool(_FINITE.search(text))
    epoch = EPOCH.match(text)
    bar = _BAR.search(text, epoch.end() if epoch else 0)
    if bar and _SHARE.search(text[: bar.start("done")]):
        bar = None
    step = None if bar else _STEP.search(text)
    if _WHOLE_EPOCH.match(text):
        place = (line.number, line.group, text)
        return LogProgress(*place, done=1, total=1, is_nan=is_nan, is_finite=is_finite)
    is_step = (
        (step and _MEASURED.search(text))
        or (is_nan and _METRICS.search(text) and not _REST_OF_BAR.match(text))
        or is_alone
    )
    if not (epoch or (bar and _LOOKS_LIKE_TRAINING.search(text)) or is_step):
        return None
    done = bar["done"] if bar else (step[0] if step else "")
    # Keras 2 ends the bar of `evaluate` without a line break: a printed result stands behind it.
    done = bar["total"] if bar and _RESULT_OF_BAR.search(text) else done
    count = epoch["epoch"] if epoch else next(filter(None, step.groups()), "") if step else ""
    return LogProgress(
        line.number,
        line.group,
        f"{epoch['epoch'] if epoch else ''}:{done}:{bar['total'] if bar else ''}",
        int(epoch["epoch"]) if epoch else None,
        int(epoch["epochs"]) if epoch and epoch["epochs"] else None,
        int(done) if bar else None,
        int(bar["total"]) if bar else None,
        int(count) if count else None,
        is_nan,
        is_finite,
        is_told=bool(epoch and not bar and not step and _TOLD_EPOCH.search(text)),
    )
