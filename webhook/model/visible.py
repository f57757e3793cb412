"""Text from users, made safe to show: what a terminal or the API server would act on, or drop, is spelt out."""

from __future__ import annotations


def visible(text: str) -> str:
    """`text` with every character that is not printable (escape, bell, right-to-left marks, tabs) as `\\x1b`; newlines stay.

    The API server drops a warning that holds a control character, without a word.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
