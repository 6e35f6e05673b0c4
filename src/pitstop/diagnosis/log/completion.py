"""Signs that a training came to its end: its last words, its result, its counter."""

import bisect
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
_WHOLE_BAR = re.compile(r"\W*(?P<done>\d+)/(?P=done) [\[\u2501].*\d(?:m?s|us)/(?:step|sample)\b")
RESULT = re.compile(r"(?:^|\d)\[-?\d[\d.e+-]*(?:, -?\d[\d.e+-]*)*\]$|^-?\d+\.\d+$")
"""A number, or a list of numbers, that a program prints alone, such as the result of `evaluate`."""
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
    if _is_only_bar(told, progress):
        return told[-1]
    if len(told) < _FEWEST_LINES or _goes_on(progress):
        return None
    results = [line for line in told if RESULT.search(line.text)]
    if _is_whole(told, progress) or results == told[-1:]:
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


def _is_only_bar(told: Sequence[Line], progress: Sequence[LogProgress]) -> bool:
    """A whole bar of Keras is last, and no epochs are announced: there is one, or none."""
    no_epochs = not any(each.epoch is not None for each in progress)
    return no_epochs and bool(told) and bool(_WHOLE_BAR.match(told[-1].text))


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
    """The last round that was announced ends as the one before it; or the last training does."""
    counted = [each for each in progress if each.count is not None]
    if counted and (in_last_epoch(progress) or _is_as_set(told, counted)):
        begun = [b.number for a, b in itertools.pairwise(counted) if a.count != b.count]
        of_last = [line.text for line in told if begun and line.number >= begun[-1]]
        is_whole = _ends_its_round(told, [counted[0].number, *begun])
        return is_whole is True and not any(map(_GOES_WRONG.search, of_last))
    bars = [each for each in progress if each.total and each.done]
    begun = [b.number for a, b in itertools.pairwise(bars) if (b.done or 0) < (a.done or 0)]
    is_below = bool(bars) and told[-1].number > bars[-1].number and not bars[-1].is_before_its_end
    return is_below and _ends_its_round(told, [bars[0].number, *begun]) is True


def breaks_off(lines: Sequence[Line], progress: Sequence[LogProgress]) -> bool:
    """The same training is repeated, and the last time less follows than the time before."""
    told = [line for line in lines if re.search(r"\w", line.text)]
    pairs = itertools.pairwise(each for each in progress if each.epochs)
    again = [b for a, b in pairs if (b.epoch or 0) < (a.epoch or 0) or b.epochs == 1]
    if len(again) < _FEWEST_OF_A_LOOP:
        return False
    last = again[-1].number
    known = {_form(line.text) for line in told if line.number < last}
    is_known = all(_form(line.text) in known for line in told if line.number >= last)
    first = next(each.number for each in progress if each.epochs)
    return is_known and _ends_its_round(told, [first, *(each.number for each in again)]) is False


def _ends_its_round(told: Sequence[Line], begun: Sequence[int]) -> bool | None:
    """Whether the last line is the last one of a round, as in the one before; None: not known.

    Between two rounds stands what is above the first, or names the next.
    """
    if len(begun) < 2:
        return None
    forms, numbers = [_form(line.text) for line in told], [line.number for line in told]
    places = (bisect.bisect_left(numbers, number) for number in (begun[0], *begun[-2:]))
    first, before, last = places
    alike = [at for at in range(before, last) if forms[at] == forms[-1]]
    if not alike:
        return None
    heads, counts = set(forms[:first]), Counter(forms)
    is_last = all(each in heads or counts[each] == 1 for each in forms[alike[-1] + 1 : last])
    return is_last and forms[last:].count(forms[-1]) >= len(alike)


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
