"""Secrets in what is kept: arguments, URLs and lines that look like one are masked.

A name decides (`--api-key`, `PASSWORD=`), or the form that a service gives its keys.  In doubt
a text stays: `max_tokens=512` and `pad_token=<pad>` are no secrets.
"""

import re
from collections.abc import Sequence

from pitstop.events import JsonValue

MASK = "***"

_STRICT = r"(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret)"
_LOOSE = (
    r"(?:(?:access|auth|api|id|refresh|session|bearer|private|bot|hub|hf|wandb|github|ci)?[_-]?token"
    r"|(?:api|access|account|storage|auth|private|encryption|license|ssh|sas)[_-]?key"
    r"|tf_token_[a-z0-9_-]+|credentials?|authorization)"
)
_NAME = r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]+[_.-])*(?P<{}>{})"
_VALUE_OF_STRICT = r"[^\s\"'&;,]{3,}"
_VALUE_OF_LOOSE = r"(?=[\w./+=~-]*\d)(?=[\w./+=~-]*[A-Za-z])[\w./+=~-]{12,}"
_BETWEEN = r"[\"']?\s*[:=]\s*[\"']?"
_SCHEME = r"(?:(?:Bearer|Basic|Token)\s+)?"

_PATTERNS = (
    # user:password@host, and a token in the place of the user
    re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"']*:)[^\s/@\"']+(?=@)"),
    re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://)[\w-]{16,}(?=@)"),
    re.compile(
        r"(?P<before>[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)"
        r"|(?:access_?|auth_?|id_?|api_?)?(?:token|key)|password|secret)=)[^&\s\"']+",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<before>{_NAME.format('strict', _STRICT)}{_BETWEEN}){_VALUE_OF_STRICT}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<before>{_NAME.format('loose', _LOOSE)}{_BETWEEN}{_SCHEME}){_VALUE_OF_LOOSE}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<before>\b(?:Bearer|Basic) )[\w./+=~-]{16,}"),
    re.compile(r"(?P<before>\bwandb\W+login\W+)[0-9a-f]{40}\b"),
    # The forms of keys: AWS, GitHub, GitLab, Hugging Face, OpenAI and others, Slack, Google,
    # JSON web tokens, key files.
    re.compile(r"(?P<before>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?P<before>)\b(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|dckr_pat_)[\w-]{20,}"),
    re.compile(r"(?P<before>)\bsk-(?:\w+-)*[A-Za-z0-9]{20,}|\bxox[abeprs]-[\w-]{10,}"),
    re.compile(r"(?P<before>)\bAIza[\w-]{35}|\bya29\.[\w-]{20,}"),
    re.compile(r"(?P<before>)\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+"),
    re.compile(
        r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:.|\n)*?(?=-----END [A-Z ]*KEY-----|\Z)"
    ),
)
_OPTION = re.compile(rf"^--?(?:[A-Za-z0-9]+[_.-])*(?:{_STRICT}|{_LOOSE})$", re.IGNORECASE)
_MAY_HOLD_ONE = re.compile(
    r"-----BEGIN|pass|secret|token|key|wandb|credential|authorization|bearer|basic |://|[?&]sig|AKIA|ASIA|gh[pousr]_"
    r"|github_pat_|glpat-|hf_|npm_|dckr_|sk-|xox|AIza|ya29|eyJ",
    re.IGNORECASE,
)
"""What all patterns have in common: a text without it is not looked at again."""

_LONGEST_HELD_BYTES = 4096
_BLOCK_BYTES = 4096  # a piece of this size was cut by a buffer, anywhere in a word


def masked(text: str) -> str:
    if not _MAY_HOLD_ONE.search(text):
        return text
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<before>{MASK}", text)
    return text


def masked_words(words: Sequence[str]) -> list[str]:
    found = [masked(word) for word in words]
    for i, word in enumerate(words[:-1]):
        if _OPTION.match(word) and not words[i + 1].startswith("-"):
            found[i + 1] = MASK
    return found


def masked_tree(value: JsonValue) -> JsonValue:
    """A JSON value without secrets; a member's name and a list's option tell of the next value."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: _member(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        words = [each for each in value if isinstance(each, str)]
        if len(words) == len(value):
            return list(masked_words(words))
        return [masked_tree(item) for item in value]
    return value


class Masker:
    """Masks a stream of bytes in which a secret may stand on the border of two pieces."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may be kept; what may become a secret is held until its line ends."""
        data, self._held = self._held + data, b""
        start = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        start += _first_doubt(data[start:], was_cut=len(data) >= _BLOCK_BYTES)
        if len(data) - start < _LONGEST_HELD_BYTES:
            data, self._held = data[:start], data[start:]
        return _masked_bytes(data)

    def rest(self) -> bytes:
        rest, self._held = self._held, b""
        return _masked_bytes(rest)


def _first_doubt(line: bytes, *, was_cut: bool) -> int:
    """Where in an incomplete line a secret may begin: at the word that hints at one."""
    hint = _MAY_HOLD_ONE.search(line.decode("latin-1"))
    if hint is not None:
        return _beginning_of_word(line, hint.start())
    # A word that a buffer has cut may become a hint.
    return _beginning_of_word(line, len(line)) if was_cut else len(line)


def _beginning_of_word(line: bytes, at: int) -> int:
    return max(line.rfind(b" ", 0, at), line.rfind(b"\t", 0, at)) + 1


def _member(key: str, item: JsonValue) -> JsonValue:
    if isinstance(item, str) and item:
        told = masked(f"{key}={item}")
        return masked(item) if told == f"{key}={item}" else told.partition("=")[2]
    return masked_tree(item)


def _masked_bytes(data: bytes) -> bytes:
    return masked(data.decode("latin-1")).encode("latin-1")
