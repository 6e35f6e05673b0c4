"""Signs of training that goes on: progress bars, steps, epochs; and of its end."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pitstop.diagnosis import signatures
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.wording import read_table
from pitstop.record import Frozen

_LOGGED = r"(?:(?:[\w.]+ - )?(?:INFO|DEBUG)(?: - | +(?:[\w.:-]+ +){0,2}?|\W*\[[\w.]+:\d+\]\W*))?"
"""What many loggers put before a message, after the time."""
_EPOCH = re.compile(
    rf"^[\W_]*{_LOGGED}(?:(?:I )?Train(?:ing)? (?:of )?)?(?:[Ee]poch|EPOCH)[ :#=]*"
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
    r"^\s+File |^\s+at |Error|Warning|Exception|[Rr]etry|[Aa]ttempt"
    r"|^[IWEF] (?!Training of Epoch)|failed|^\s*[#\"'(]"
)
_NAN = re.compile(
    r"\b(?:(?:total|train|training|sum|overall|mean|avg|lm|main|reduced_train)_)?loss\b"
    r"[\"']?\s*[:=]\s*-?(?:nan|inf)\b|loss \(?(?:is )?-?nan"
    # losses that go by other names
    r"|^(?!.*loss)(?:.*\b\w+[=:] ?-?nan\b){2}",
    re.IGNORECASE,
)
_METRICS = re.compile(r"(?:[\w)][\"']?[:=] ?-?(?:\d|nan|inf).*){2}", re.IGNORECASE)
_ALONE = re.compile(r"^\W*[\w/]*loss[\"']?: -?nan\W*$")
"""The loss of a dictionary that is printed with one entry a line."""
_FINITE = re.compile(r"\bloss\b[\"']?\s*[:=]\s*\d", re.IGNORECASE)
_WHOLE_EPOCH = re.compile(r"^(?:\d+m?s - )?(?:\w+_)?[Ll]oss: [\d.]")
"""What Keras with `verbose=2`, or a loop of the script, prints of an epoch at its end."""
_TOLD_EPOCH = re.compile(r"(?:loss|acc(?:uracy)?)\b[^:=\d]{0,20}[:= ]\s*\d*\.\d", re.IGNORECASE)
"""What a loop of the script prints after `Epoch 3/3`, when that epoch is over."""
_LAST_ONES = 3
_REST_OF_BAR = re.compile(r"^ - (?:ETA: )?\d")
"""What a notebook puts on a line of its own, where Keras had gone back in the line."""
_TABLE = read_table(Path(signatures.__file__).with_name("completed.toml"))


def _words(*names: str) -> re.Pattern[str]:
    said = "|".join(each for name in names for each in _TABLE[name])
    return re.compile(rf"^\W*{_LOGGED}(?:[DI] )?(?:{said})", re.IGNORECASE)


_COMPLETE, _LAST_WORDS, _LAST_RESULTS = _words("said"), _words("words"), _words("results")
_OF_OTHERS = re.compile(_TABLE["words_of_others"], re.IGNORECASE)
_BEGINS = re.compile(rf"^\W*{_LOGGED}(?:{_TABLE['begins']})", re.IGNORECASE)
_ROW = re.compile(r"[^:=]*?(?:[\s\[|]+-?(?:\d[\d.e+-]*|nan)[\],;|%]*)+\s*\]*$|[\W_]*$")
"""Of a table, or a line that separates: it says nothing of its own."""
_NUMBER = re.compile(r"\d[\d.,]*(?:e[-+]?\d+)?")
_DRAWN = re.compile(r"%\||\[[=>]|[━█]")
_NEARLY = 0.9
_WORD = re.compile(r"[^\W\d]+|0")
_MOST_COLUMNS = 3
_ROUNDS = _ROUND, _VERY_ROUND = 10, 100
_GOES_WRONG = re.compile(_TABLE["goes_wrong"], re.IGNORECASE)
_RESULT = re.compile(
    r"^\W*(?:\w+:)*\s*(?:(?:accuracy|loss) o[nfv]\w* )?(?:the )?"
    r"(?:best|correct|final|overall|test|validation)\b.*[:=] ?\W*\d",
    re.IGNORECASE,
)
_TESTS_RAN = re.compile(r"Ran \d+ tests? in \d")
_PYTEST_PASSED = re.compile(r"=*(?!.*(?:failed|error)).*\d+ passed\b.* in \d")
_FEWEST_BEFORE_RESULT, _MOST_RESULTS = 10, 3
_FEWEST_OF_A_LOOP = 3
_EVALUATION = re.compile(r"\b(?P<is>Starting|Finished) evaluation\b")


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


def completions(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines that tell of an end, but for an evaluation that began after it and goes on."""
    evaluations = [(line, each) for line in lines if (each := _EVALUATION.search(line.text))]
    last = evaluations[-1] if evaluations else None
    since = last[0].number if last and last[1]["is"] == "Starting" else 0
    return (line for line in lines if line.number > since and _COMPLETE.match(line.text))


def result(lines: Sequence[Line]) -> Line | None:
    """The last line, if it tells a result in a form that no line before it had.

    Below a loop others may follow the result.
    """
    told = [line for line in lines if line.text.strip()]
    forms = [re.sub(r"\d+", "0", line.text) for line in told]
    new = 0
    while new < min(_MOST_RESULTS, len(forms) - 1) and forms.count(forms[-1 - new]) == 1:
        new += 1
    is_below_a_loop = new > 0 and forms.count(forms[-1 - new]) >= _FEWEST_OF_A_LOOP
    most = new if is_below_a_loop else int(new > 0 and len(told) > _FEWEST_BEFORE_RESULT)
    return told[-1] if _last_that(_RESULT.match, told[len(told) - most :]) else None


def passed_tests(lines: Sequence[Line]) -> Line | None:
    """The line that tells how many tests ran, if all passed; what they print may be any error."""
    told = [line for line in lines if line.text.strip()]
    for above, line in itertools.pairwise(told):
        if _PYTEST_PASSED.match(line.text):
            return line
        if line.text.startswith("OK") and _TESTS_RAN.match(above.text):
            return above
    return None


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


def last_words(lines: Sequence[Line], progress: Sequence[LogProgress]) -> Line | None:
    """The line that tells of an end below the loop, or with which the loop itself ended."""
    told = [line for line in lines if re.search(r"\w", line.text)]
    if len(told) <= _FEWEST_BEFORE_RESULT or _goes_on(progress):
        return None
    if _counted_to_its_end(told):
        return told[-1]
    began = _began_at(progress)
    forms = [_form(line) if line.number >= began else "" for line in told]
    counts, places = Counter(forms), {each.number for each in progress}
    new = len(told)
    for line, form in zip(reversed(told), reversed(forms), strict=True):
        is_often = counts[form] >= _FEWEST_OF_A_LOOP and not _ROW.match(form)
        if line.number in places or (is_often and not _tells_of_an_end(line.text)):
            break
        new -= 1
    below = [line for line in told[new:] if not _ROW.match(line.text)][-_MOST_RESULTS:]
    last = _last_that(_tells_of_an_end, below)
    return last if last and _form(last) not in forms[:new] else None


def _last_that(tells: Callable[[str], object], lines: Sequence[Line]) -> Line | None:
    """The last line that tells it, if no other part of the program begins below."""
    for line in reversed(lines):
        if tells(line.text):
            return line
        if _BEGINS.match(line.text):
            break
    return None


def _tells_of_an_end(text: str) -> bool:
    return bool(
        _LAST_RESULTS.match(text) or (_LAST_WORDS.match(text) and not _OF_OTHERS.search(text))
    )


def _goes_on(progress: Sequence[LogProgress]) -> bool:
    if any(each.epochs for each in progress):
        return not in_last_epoch(progress)
    last = progress[-1] if progress else None
    return bool(last and last.total and (last.done or 0) < _NEARLY * last.total)


def _began_at(progress: Sequence[LogProgress]) -> int:
    """The line at which the epochs were last counted from the beginning again."""
    pairs = itertools.pairwise(each for each in progress if each.epoch is not None)
    again = (b.number for a, b in pairs if (a.epoch or 0) > 1 >= (b.epoch or 0))
    return max(again, default=0)


def _form(line: Line) -> str:
    return _NUMBER.sub("0", line.text)


class _Counter(Frozen):
    """A number that grows by the same step in lines of one form."""

    # `before`, `last`: places of the first lines of its last two rounds
    before: int
    last: int
    is_round: bool
    is_very_round: bool  # or at a total that is told


def _counter_of(told: Sequence[Line], places: Sequence[int]) -> _Counter | None:
    """The one in these lines of one form, if it is not before a total that is told."""
    last = told[places[-1]].text
    rows = [[each.rstrip(".,") for each in _NUMBER.findall(told[at].text)] for at in places]
    for column in zip(*(row[:_MOST_COLUMNS] for row in rows), strict=False):
        if not all(each.isdecimal() for each in column):
            continue
        new = [at for at in range(len(column)) if at == 0 or column[at] != column[at - 1]]
        values = [int(column[at]) for at in new]
        rises = [b - a for a, b in itertools.pairwise(values)]
        again = max((at for at, rise in enumerate(rises, 1) if rise < 0), default=0)
        steps = set(rises[again:][-_ROUND:])
        if len(steps) != 1 or len(values) < _FEWEST_OF_A_LOOP or (again and not _EPOCH.match(last)):
            continue
        step, value = steps.pop(), values[-1]
        rounds = {value // step, value // step + (values[again] == 0)}
        total = re.search(rf"(?<!\d){column[-1]} ?(?:/|of) ?(\d+)", last)
        is_at_total = total is not None and int(total[1]) in (rounds if step == 1 else {value})
        if is_at_total or (len(values) - again >= _ROUND and not total):
            is_round, is_very = (any(each % n == 0 for each in rounds) for n in _ROUNDS)
            starts = (places[new[-2]], places[new[-1]])
            return _Counter(*starts, is_round or is_at_total, is_very or is_at_total)
    return None


def _counted_to_its_end(told: Sequence[Line]) -> bool:
    """The last counter came to its total or a round number, its round is whole, and the rest new.

    Below a very round number nothing need follow.
    """
    places: dict[str, list[int]] = {}
    forms = [" ".join(_WORD.findall(_form(line))) for line in told]
    for at, form in enumerate(forms):
        places.setdefault(form, []).append(at)
    often = (each for each in places.values() if len(each) >= _FEWEST_OF_A_LOOP)
    found = max(
        filter(None, (_counter_of(told, each) for each in often)),
        key=lambda each: each.last,
        default=None,
    )
    if not found:
        return False
    new = max(at for at, form in enumerate(forms) if places[form][0] < found.last) + 1
    below = [line.text for line in told[new:]]
    is_drawn = _DRAWN.search(told[found.last].text) and found.last - found.before == 1
    whole, last = Counter(forms[found.before : found.last]), Counter(forms[found.last :])
    goes_on = any("0" in form and last[form] > max(2, whole[form]) for form in last)
    begins = any(_BEGINS.match(each) for each in below[-_MOST_RESULTS:])
    is_whole = last[forms[found.last - 1]] >= whole[forms[found.last - 1]]
    if (
        not is_whole
        or is_drawn
        or goes_on
        or begins
        or any(_GOES_WRONG.search(each) for each in below)
    ):
        return False
    return found.is_round if below else found.is_very_round


def ran_to_its_end(progress: Sequence[LogProgress]) -> bool:
    if not in_last_epoch(progress):
        return False
    last = progress[-1]
    return last.is_told or (last.total is not None and not last.is_before_its_end)


def _of(line: Line) -> LogProgress | None:
    text = line.text[:400]
    is_alone = bool(_ALONE.match(text))
    if not text or (_NO_PROGRESS.search(text) and not is_alone):
        return None
    is_nan = bool(_NAN.search(text))
    is_finite = not is_nan and bool(_FINITE.search(text))
    epoch = _EPOCH.match(text)
    bar = _BAR.search(text, epoch.end() if epoch else 0)
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
    return LogProgress(
        line.number,
        line.group,
        f"{epoch['epoch'] if epoch else ''}:{done}:{bar['total'] if bar else ''}",
        int(epoch["epoch"]) if epoch else None,
        int(epoch["epochs"]) if epoch and epoch["epochs"] else None,
        int(bar["done"]) if bar else None,
        int(bar["total"]) if bar else None,
        is_nan,
        is_finite,
        is_told=bool(epoch and not bar and not step and _TOLD_EPOCH.search(text)),
    )
