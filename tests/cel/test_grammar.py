"""cel-python's grammar: that it is the one we know, and that we never ask more of cel-python than that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from webhook.cel.grammar import GrammarError, _grammar_text, patched


def test_every_change_finds_its_place() -> None:
    assert "ESCAPED" in patched(_grammar_text())


def test_another_grammar_is_noticed() -> None:
    with pytest.raises(GrammarError, match="has changed"):
        patched(_grammar_text().replace("list_lit ", "listing "))


def test_the_package_of_cel_python_is_never_imported() -> None:
    code = (
        "import sys; from webhook.cel import compile_selector; compile_selector('true');"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'celpy']; assert sys.getrecursionlimit() == 1000"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
