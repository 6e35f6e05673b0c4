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


_COMPLETE, _LAST_WORDS = _words("said"), _words("words")
_BEGINS = re.compile(rf"^\W*{LOGGED}(?:{_TABLE['begins']})", re.IGNORECASE)
_GOES_WRONG = re.compile(_TABLE["goes_wrong"], re.IGNORECASE)
_ROW = re.compile(
    r"[\W\d]*$|(?=(?:\D*\d[\d.]*+){2})[^:=]*?(?:[\s\[|]+-?(?:\d[\d.e+-]*|nan)[\],;|%]*)+\s*\]*$"
)
"""Of a table, or a line that separates: it says nothing of its own."""
_OF_THE_LOOP = re.compile(_TABLE["words_of_the_loop"], re.IGNORECASE)
_OF_NATIVE_CODE = re.compile(r"\b[IWEF] tensorflow/|^[IWEF]\d{4} ")
_NUMBER = re.compile(r"-?\d[\d.,:]*(?:e[-+]?\d+)?|\b(?:nan|inf)\b")
_NEARLY = 0.9
_TESTS_RAN = re.compile(r"Ran \d+ tests? in \d")
_PYTEST_PASSED = re.compile(r"=*(?!.*(?:failed|error)).*\d+ passed\b.* in \d")
_FEWEST_OF_A_LOOP, _FEWEST_LINES, _MOST_LAST, _FEWEST_CHARACTERS = 3, 4, 3, 31
_SETTING = re.compile(
    r"(?:epochs?|iter(?:ation)?s?|steps|episodes|rounds)(?:_num)?[\"']?[ =:]{1,3}(\d+)\b",
    re.IGNORECASE,
)
_MEASURES = re.compile(
    r"loss|acc|\bf1|score|error|auc|\biou|reward|\bm[sa]e\b|matrix", re.IGNORECASE
)
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
    if len(told) < _FEWEST_LINES or _goes_on(progress):
        return None
    if _is_whole(told, progress):
        return told[-1]
    began = _began_at(progress)
    forms = [_form(line.text) if line.number >= began else "" for line in told]
    loop = _lines_of_loop(told, forms, progress)
    known = set(forms[:loop])
    new = [line for line, form in zip(told[loop:], forms[loop:], strict=True) if form not in known]
    below = [line for line in told[loop:] if not _ROW.match(line.text)]
    said = _last_of(_tells_of_an_end, below[-_MOST_LAST:])
    if said in new:
        return said
    fails = told[-1].text.endswith(":") or any(_GOES_WRONG.search(line.text) for line in below)
    result = None if fails or not _trains(told, loop, progress) else _last_of(_is_own, below, new)
    return result and told[-1]


def _is_own(text: str) -> bool:
    """Neither what a loop says now and then, such as that it saved, nor what native code logs."""
    return not (_LAST_WORDS.match(text) or _OF_NATIVE_CODE.search(text) or _BEGINS.match(text))


def _lines_of_loop(
    told: Sequence[Line], forms: Sequence[str], progress: Sequence[LogProgress]
) -> int:
    """How many lines there are up to the last one that the loop printed, again and again."""
    counts, places = Counter(forms), {each.number for each in progress}
    for at in reversed(range(len(told))):
        text, form = told[at].text, forms[at]
        is_often = counts[form] >= _FEWEST_OF_A_LOOP or _is_cut(forms, at)
        is_own = not _ROW.match(text) and not _tells_of_an_end(text)
        if told[at].number in places or (is_often and is_own):
            return at + 1
    return 0


def _is_cut(forms: Sequence[str], at: int) -> bool:
    """The last line is the beginning of one that the loop prints."""
    above = forms[max(0, at - _FEWEST_LINES) : at]
    is_last = at == len(forms) - 1 and len(forms[at]) >= _FEWEST_CHARACTERS
    return is_last and any(each.startswith(forms[at]) for each in above)


def _trains(told: Sequence[Line], loop: int, progress: Sequence[LogProgress]) -> bool:
    if progress:
        return progress[-1].total is not None or len(progress) >= _FEWEST_OF_A_LOOP
    return loop > 0 and any(_MEASURES.search(line.text) for line in told)


def _last_of(
    tells: Callable[[str], bool], lines: Sequence[Line], among: Sequence[Line] | None = None
) -> Line | None:
    """The last line that tells it, if no other part of the program begins below."""
    for line in reversed(lines):
        if tells(line.text) and (among is None or line in among):
            return line
        if _BEGINS.match(line.text):
            break
    return None


def _tells_of_an_end(text: str) -> bool:
    is_other = _OF_THE_LOOP.search(text) or _GOES_WRONG.search(text)
    return bool(_LAST_WORDS.match(text) and not is_other)


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


def _began_at(progress: Sequence[LogProgress]) -> int:
    """The line at which the epochs were last counted from the beginning again."""
    pairs = itertools.pairwise(each for each in progress if each.epoch is not None)
    again = (b.number for a, b in pairs if (a.epoch or 0) > 1 >= (b.epoch or 0))
    return max(again, default=0)


def _form(text: str) -> str:
    return re.sub(r"[0\W_]+", " ", _NUMBER.sub("0", text))
