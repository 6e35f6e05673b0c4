"""Signs that a training came to its end: its last words, its result, its counter."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pitstop.diagnosis import signatures
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.log.progress import LOGGED, LogProgress, in_last_epoch
from pitstop.diagnosis.wording import read_table

_TABLE = read_table(Path(signatures.__file__).with_name("completed.toml"))


def _words(*names: str) -> re.Pattern[str]:
    said = "|".join(each for name in names for each in _TABLE[name])
    return re.compile(rf"^\W*{LOGGED}(?:[DI] )?(?:{said})", re.IGNORECASE)


_COMPLETE, _LAST_WORDS, _LAST_RESULTS = _words("said"), _words("words"), _words("results")
_OF_OTHERS = re.compile(_TABLE["words_of_others"], re.IGNORECASE)
_BEGINS = re.compile(rf"^\W*{LOGGED}(?:{_TABLE['begins']})", re.IGNORECASE)
_ROW = re.compile(r"[^:=]*?(?:[\s\[|]+-?(?:\d[\d.e+-]*|nan)[\],;|%]*)+\s*\]*$|[\W_]*$")
"""Of a table, or a line that separates: it says nothing of its own."""
_NUMBER = re.compile(r"\d[\d.,]*(?:e[-+]?\d+)?")
_NEARLY = 0.9
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
_SETTING = re.compile(
    r"(?:epochs?|iter(?:ation)?s?|steps|episodes|rounds)[\"']?[ =:]{1,3}(\d+)\b", re.IGNORECASE
)
_MEASURES = re.compile(r"loss|acc", re.IGNORECASE)
_TRAINS = re.compile(r"global_step/sec|\bstep = \d")
_EVALUATION = re.compile(r"\b(?P<is>Starting|Finished) evaluation\b")


def completions(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines that tell of an end, but for an evaluation that began after it and goes on."""
    evaluations = [(line, each) for line in lines if (each := _EVALUATION.search(line.text))]
    last = evaluations[-1] if evaluations else None
    since = last[0].number if last and last[1]["is"] == "Starting" else 0
    yield from (line for line in lines if line.number > since and _COMPLETE.match(line.text))
    if last and not since and not any(_TRAINS.search(line.text) for line in lines):
        yield last[0]  # there was nothing else to do


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


def last_words(lines: Sequence[Line], progress: Sequence[LogProgress]) -> Line | None:
    """The line that tells of an end below the loop, or with which the loop itself ended."""
    told = [line for line in lines if re.search(r"\w", line.text)]
    if len(told) <= _FEWEST_BEFORE_RESULT or _goes_on(progress):
        return None
    masked = [_form(line) for line in told]
    if _is_whole(told, progress) or _is_below_a_full_bar(told, masked, progress):
        return told[-1]
    began = _began_at(progress)
    forms = [form if line.number >= began else "" for line, form in zip(told, masked, strict=True)]
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


def _is_whole(told: Sequence[Line], progress: Sequence[LogProgress]) -> bool:
    """The last round that was announced has as many lines as the one before it."""
    counted = [each for each in progress if each.count is not None]
    if not counted or not (in_last_epoch(progress) or _is_as_set(told, counted)):
        return False
    begun = [b.number for a, b in itertools.pairwise(counted) if a.count != b.count]
    before, last = begun[-2:] if len(begun) > 1 else (0, 0)
    of_last = [line.text for line in told if line.number >= last]
    is_whole = len(of_last) >= sum(before <= line.number < last for line in told)
    return last > 0 and is_whole and not any(map(_GOES_WRONG.search, of_last))


def _is_as_set(told: Sequence[Line], counted: Sequence[LogProgress]) -> bool:
    """The last count is what the settings above the loop say; some count from 0."""
    above = (line.text for line in told if line.number < counted[0].number)
    totals = {int(each[1]) for text in above for each in _SETTING.finditer(text)}
    return (counted[-1].count or 0) + (counted[0].count == 0) in totals


def _is_below_a_full_bar(
    told: Sequence[Line], masked: Sequence[str], progress: Sequence[LogProgress]
) -> bool:
    """Below the last bar, which is full, stands what none of the lines before it looks like."""
    last = progress[-1] if progress else None
    if not (last and last.total) or not any(_MEASURES.search(line.text) for line in told):
        return False
    at = next((at for at, line in enumerate(told) if line.number > last.number), len(told))
    below = [line.text for line in told[at:]]
    is_new = [form not in masked[:at] for form in masked[at:]]
    loops = max(Counter(masked[at:]).values(), default=0) >= _FEWEST_OF_A_LOOP
    is_mostly_new = any(is_new) and 2 * sum(is_new) >= len(is_new)
    return is_mostly_new and not loops and not _fails_or_begins(below)


def _fails_or_begins(below: Sequence[str]) -> bool:
    begins = any(_BEGINS.match(each) for each in below[-_MOST_RESULTS:])
    return begins or any(_GOES_WRONG.search(each) for each in below)


def _began_at(progress: Sequence[LogProgress]) -> int:
    """The line at which the epochs were last counted from the beginning again."""
    pairs = itertools.pairwise(each for each in progress if each.epoch is not None)
    again = (b.number for a, b in pairs if (a.epoch or 0) > 1 >= (b.epoch or 0))
    return max(again, default=0)


def _form(line: Line) -> str:
    return _NUMBER.sub("0", line.text)
