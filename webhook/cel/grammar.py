"""cel-python's grammar, completed to the language that Kubernetes speaks, as a parser.

Only the grammar file of cel-python is used: importing its package would bring in its evaluators. Every change names the
text that it replaces, so that another cel-python than the tested one is noticed instead of misread.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec

from lark import Lark

_FILE = "cel.lark"

_STRING = (
    r"[rR]\"\"\"[\s\S]*?\"\"\"|[rR]'''[\s\S]*?'''|[rR]\"[^\"\n\r]*\"|[rR]'[^'\n\r]*'"
    r"|\"\"\"(?:{escape}|[^\\])*?\"\"\"|'''(?:{escape}|[^\\])*?'''"
    r"|\"(?:{escape}|[^\\\"\n\r])*\"|'(?:{escape}|[^\\'\n\r])*'"
).replace(
    "{escape}",
    r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})",
)

_RULES = {
    # Rules that only pass on their one child are folded away.
    r"^(expr|conditionalor|conditionaland|addition|multiplication|primary) +:": r"?\1 :",
    r"^relation +:": "?relation :",
    # `!` and `-` repeat but do not mix.
    r"^unary +: member\n.*\n.*\n": "unary : member | nots member | negs member\n",
    r'^unary_not +: "!"\n': 'nots : "!"+\n',
    r'^unary_neg +: "-"\n': 'negs : "-"+\n',
    # Optional syntax.
    r"^member +: ": "?member : member_opt_dot | member_opt_index | ",
    r"^member_dot +: .*": 'member_dot : member "." (IDENT | ESCAPED)\n'
    'member_opt_dot : member "." "?" (IDENT | ESCAPED)\nmember_opt_index : member "[" "?" expr "]"',
    # Optional entries and trailing commas.
    r"^list_lit +: .*": 'list_lit : "[" [","] "]" | "[" listinit [","] "]"\n'
    'listinit : optexpr | listinit "," optexpr\noptexpr : ["?"] expr',
    r"^map_lit +: .*": 'map_lit : "{" [","] "}" | "{" mapinits [","] "}"',
    r"^mapinits +: .*": 'mapinits : mapinit | mapinits "," mapinit\nmapinit : ["?"] expr ":" expr',
    # Message literals as well; the tree builder sees to it that only a name stands in front of one.
    r"^member_object +: .*": 'member_object : member "{" [","] "}" | member "{" fieldinits [","] "}"',
    r"^fieldinits +: .*": 'fieldinits : fieldinit | fieldinits "," fieldinit\nfieldinit : ["?"] (IDENT | ESCAPED) ":" expr',
    # true, false and null are read as names and told apart afterwards, so that `trueish` stays one name.
    r"^literal +: .*\n.*": "literal : UINT_LIT | FLOAT_LIT | INT_LIT | STRING_LIT | BYTES_LIT",
    # Literals as cel-go reads them.
    r"^INT_LIT .*": r"INT_LIT.1 : /-?(?:0x[0-9a-fA-F]+(?![0-9a-fA-FuU])|[0-9]+(?![0-9uUx]))/",
    r"^UINT_LIT .*": r"UINT_LIT.2 : /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]/",
    r"^FLOAT_LIT .*": r"FLOAT_LIT.3 : /-?(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/",
    r"^STRING_LIT .*\n.*\n": f"STRING_LIT.2 : /{_STRING}/\n",
    r"^MLSTRING_LIT .*\n.*\n": "",
    r"^BYTES_LIT .*": f"BYTES_LIT.2 : /[bB](?:{_STRING})/",
    r"^(DIGIT|HEXDIGIT|EXPONENT|BOOL_LIT|NULL_LIT) .*\n": "",
    r"^RESERVED\.0 .*\n.*\n.*\n.*\n": "",
    r'^relation_in +: relation "in"': "relation_in : relation IN",
    r"^IDENT +: .*": r"IDENT : /[_a-zA-Z][_a-zA-Z0-9]*/" + "\nIN : /in(?![_a-zA-Z0-9])/\nESCAPED : /`[a-zA-Z0-9_.\\-\\/ ]+`/",
}


class GrammarError(Exception):
    """The installed cel-python does not have the grammar that this package was made for."""


@cache
def parser(builder: object) -> Lark:
    """The parser, which builds its result with `builder`. Made once: it takes some hundred milliseconds."""
    return Lark(
        patched(_grammar_text()),
        parser="lalr",
        start="expr",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=builder,  # any object with a method per rule will do
    )


def patched(text: str) -> str:
    """cel-python's grammar with our changes."""
    for pattern, replacement in _RULES.items():
        expanded = replacement if r"\1" in replacement else replacement.replace("\\", r"\\")
        text, count = re.subn(pattern, expanded, text, flags=re.MULTILINE)
        if count == 0:
            raise GrammarError(f"cel-python's grammar has changed: nothing matches {pattern!r}")
    return text


def _grammar_text() -> str:
    spec = find_spec("celpy")
    if spec is None or spec.submodule_search_locations is None or spec.loader is None:
        raise GrammarError("cel-python is not installed")
    data: bytes = spec.loader.get_data(f"{spec.submodule_search_locations[0]}/{_FILE}")  # type: ignore[attr-defined]
    return data.decode()
