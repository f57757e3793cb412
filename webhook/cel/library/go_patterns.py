"""Go's regular expressions in RE2's spelling: names of Unicode classes that only Go knows, and what only RE2 would accept.

The two engines agree on everything else but the size of what they compile. Go takes the names of classes in any case, with or
without underscores, and has some that RE2 lacks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import re2


class PatternError(Exception):
    """The pattern is no regular expression; the text says why."""


_CATEGORIES = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
_ALIASES = (
    "ClosePunctuation=Pe CombiningMark=M ConnectorPunctuation=Pc Control=Cc CurrencySymbol=Sc DashPunctuation=Pd "
    "DecimalNumber=Nd EnclosingMark=Me FinalPunctuation=Pf Format=Cf InitialPunctuation=Pi Letter=L LetterNumber=Nl "
    "LineSeparator=Zl LowercaseLetter=Ll Mark=M MathSymbol=Sm ModifierLetter=Lm ModifierSymbol=Sk NonspacingMark=Mn Number=N "
    "OpenPunctuation=Ps Other=C OtherLetter=Lo OtherNumber=No OtherPunctuation=Po OtherSymbol=So ParagraphSeparator=Zp "
    "PrivateUse=Co Punctuation=P Separator=Z SpaceSeparator=Zs SpacingMark=Mc Surrogate=Cs Symbol=S TitlecaseLetter=Lt "
    "UppercaseLetter=Lu cntrl=Cc digit=Nd punct=P CasedLetter=LC Unassigned=Cn"
)
_SCRIPTS = (
    "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Carian "
    "Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan Elbasan "
    "Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana "
    "Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian "
    "Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi Mongolian Mro Multani Myanmar "
    "Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra "
    "Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu "
    "Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi"
)
#: What RE2 has no name for, in its own classes.
_MADE = {
    "C": r"[^\pL\pM\pN\pP\pS\pZ]",
    "Cn": r"[^\pL\pM\pN\pP\pS\pZ\p{Cc}\p{Cf}\p{Co}]",
    "LC": r"[\p{Lu}\p{Ll}\p{Lt}]",
    "Assigned": r"[\pL\pM\pN\pP\pS\pZ\p{Cc}\p{Cf}\p{Co}]",
    "ASCII": r"[\x00-\x7f]",
}


def _canonical(name: str) -> str:
    letters = re.sub("[_ -]", "", name)
    return letters[:1].upper() + letters[1:].lower()


def _known_names() -> dict[str, str]:
    names = {name: name for name in (*_CATEGORIES.split(), *_SCRIPTS.split(), "Any")}
    names |= {"Cn": "Cn", "Lc": "LC", "Assigned": "Assigned", "Ascii": "ASCII"}
    return names | {_canonical(alias): name for alias, _, name in (pair.partition("=") for pair in _ALIASES.split())}


_NAMES = _known_names()
_GROUP_NAME = re.compile(r"\(\?P?<([^>]*)>")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_CLASS_NAME = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|([^{]))")
_NOTABLE = re.compile(r"\\[pPC]|\(\?P?<")


def translated(pattern: str) -> str:
    """The pattern for RE2. PatternError when Go refuses it."""
    return "".join(_pieces(pattern)) if _NOTABLE.search(pattern) else pattern


def _pieces(pattern: str) -> Any:
    at, in_class = 0, False
    while at < len(pattern):
        piece = pattern[at]
        if piece == "\\":
            piece, read = _escape(pattern, at, in_class=in_class)
        elif in_class:
            read = _read_in_class(pattern, at)
            piece, in_class = read, piece != "]"
        elif piece == "[":
            read = piece = _opening(pattern, at)
            in_class = True
        else:
            _check_group(pattern, at)
            read = piece
        at += len(read)
        yield piece


def _opening(pattern: str, at: int) -> str:
    """The beginning of a class: a bracket that closes it cannot stand first."""
    opening = "[^" if pattern.startswith("[^", at) else "["
    return opening + "]" if pattern.startswith("]", at + len(opening)) else opening


def _read_in_class(pattern: str, at: int) -> str:
    end = pattern.find(":]", at + 2) if pattern.startswith("[:", at) else -1
    return pattern[at : end + 2] if end >= 0 else pattern[at]


def _check_group(pattern: str, at: int) -> None:
    named = _GROUP_NAME.match(pattern, at)
    if named is not None and not _WORD.fullmatch(named[1]):
        raise PatternError(f"error parsing regexp: invalid named capture: `{named[0]}`")


def _escape(pattern: str, at: int, *, in_class: bool) -> tuple[str, str]:
    """What begins with a backslash: its spelling for RE2, and what was read."""
    following = pattern[at + 1 : at + 2]
    if following == "C":
        raise PatternError(r"error parsing regexp: invalid escape sequence: `\C`")
    if following == "Q" and not in_class:
        end = pattern.find("\\E", at + 2)
        read = pattern[at:] if end < 0 else pattern[at : end + 2]
        return read, read
    named = _CLASS_NAME.match(pattern, at)
    if named is None:
        return pattern[at : at + 2], pattern[at : at + 2]
    name = _NAMES.get(_canonical(named[3] if named[4] is None else named[4]))
    if name is None:
        raise PatternError(f"error parsing regexp: invalid character class range: `{named[0]}`")
    return _spelt(name, negated=(named[1] == "P") != bool(named[2]), in_class=in_class), named[0]


def _spelt(name: str, *, negated: bool, in_class: bool) -> str:
    if name not in _MADE:
        return rf"\{'P' if negated else 'p'}{{{name}}}"
    ranges = _ranges(name, negated=negated)
    return ranges if in_class else f"[{ranges}]"


@cache
def _ranges(name: str, *, negated: bool) -> str:
    """A class as ranges of code points, which can stand inside another class."""
    found = re2.compile(_MADE[name] + "+").finditer(_every_character())
    spans = [(_code(match.start()), _code(match.end() - 1)) for match in found]
    if negated:
        ends = [-1, *(last for _, last in spans)]
        starts = [*(first for first, _ in spans), 0x110000]
        spans = [(end + 1, start - 1) for end, start in zip(ends, starts, strict=True) if end + 1 < start]
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in spans)


def _every_character() -> str:
    return "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))


def _code(index: int) -> int:
    """The code point at an index of `_every_character`."""
    return index if index < 0xD800 else index + 0x800
