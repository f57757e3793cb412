"""What is meant by a pattern that RE2 cannot read, where that can be told: signs that repeat nothing."""

from __future__ import annotations

import json
import re
from typing import Final

from webhook.cel.library.go_patterns import PatternError
from webhook.cel.library.regex import compiled

#: A * or + where nothing stands that it could repeat, or a ? that does not open a group's flags.
_REPEATS_NOTHING: Final = re.compile(r"(?<!\\)(^|\||\((?:\?:)?)([*+]|(?<!\()\?)")
#: A text between the signs of a shell's pattern.
_PLAIN: Final = re.compile(r"\*([^\\.*+?()\[\]{}|^$\"]+)\*")
_OF_A_SHELL: Final = re.compile(r"\*[\w .\-*]*")
_LONGEST: Final = 128


def for_pattern(pattern: str, value: str) -> str:
    """For a pattern that `value.matches()` is given; "" when it is not known what is meant. Any `value` is fine but ""."""
    found = _REPEATS_NOTHING.search(pattern)
    if found is None or len(pattern) > _LONGEST:
        return ""
    sign = found[2]
    what = f"{sign} has nothing before it to repeat"
    plain = _PLAIN.fullmatch(pattern)
    if plain is not None:
        return f'{what}: ".*{plain[1]}.*" is meant, or shorter: write {value}.contains({_quoted(plain[1])})'
    meant = _REPEATS_NOTHING.sub(lambda match: match[1] + (".*" if match[2] == "*" else f"\\{match[2]}"), pattern)
    if _OF_A_SHELL.fullmatch(pattern):
        meant = re.sub(r"\.?\*+", ".*", pattern)
    what += ' (any text is ".*")' if sign == "*" else f" (the sign itself is {_quoted(f'{chr(92)}{sign}')})"
    return f"{what}: write {value}.matches({_quoted(meant)})" if is_pattern(meant) else what


def is_pattern(text: str) -> bool:
    """Whether RE2 reads it."""
    try:
        compiled(text)
    except PatternError:
        return False
    return True


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
