"""Signs that a training came to its end: its last words, its result, its counter."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pitstop.diagnosis import signatures
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.log.progress import EPOCH, LOGGED, LogProgress, in_last_epoch
from pitstop.diagnosis.wording import read_table
from pitstop.record import Frozen

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
_SETTING = re.compile(
    r"(?:epochs?|iter(?:ation)?s?|steps|episodes|rounds)[\"']?[ =:]{1,3}(\d+)\b", re.IGNORECASE
)
_MEASURES = re.compile(r"loss|acc", re.IGNORECASE)
_EVALUATION = re.compile(r"\b(?P<is>Starting|Finished) evaluation\b")


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


def last_words(lines: Sequence[Line], progress: Sequence[LogProgress]) -> Line | None:
    """The line that tells of an end below the loop, or with which the loop itself ended."""
    told = [line for line in lines if re.search(r"\w", line.text)]
    if len(told) <= _FEWEST_BEFORE_RESULT or _goes_on(progress):
        return None
    masked = [_form(line) for line in told]
    if _counted_to_its_end(told, masked) or _is_below_a_full_bar(told, masked, progress):
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
        if len(steps) != 1 or len(values) < _FEWEST_OF_A_LOOP or (again and not EPOCH.match(last)):
            continue
        step, value = steps.pop(), values[-1]
        rounds = {value // step, value // step + (values[again] == 0)}
        total = re.search(rf"(?<!\d){column[-1]} ?(?:/|of) ?(\d+)", last)
        is_at_total = total is not None and int(total[1]) in (rounds if step == 1 else {value})
        if is_at_total or (len(values) - again >= _ROUND and not total):
            is_at_total |= bool({value, *rounds} & _totals_told(told[: places[0]]))
            is_round, is_very = (any(each % n == 0 for each in rounds) for n in _ROUNDS)
            starts = (places[new[-2]], places[new[-1]])
            return _Counter(*starts, is_round or is_at_total, is_very or is_at_total)
    return None


def _totals_told(above: Sequence[Line]) -> set[int]:
    """How far it is to count, as its settings say, which stand above the loop."""
    return {int(each[1]) for line in above for each in _SETTING.finditer(line.text)}


def _counted_to_its_end(told: Sequence[Line], masked: Sequence[str]) -> bool:
    """The last counter came to its total or a round number, its round is whole, and the rest new.

    Below a very round number nothing need follow.
    """
    places: dict[str, list[int]] = {}
    forms = [" ".join(_WORD.findall(each)) for each in masked]
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
    is_whole = last[forms[found.last - 1]] >= whole[forms[found.last - 1]]
    if not is_whole or is_drawn or goes_on or _fails_or_begins(below):
        return False
    return found.is_round if below else found.is_very_round
