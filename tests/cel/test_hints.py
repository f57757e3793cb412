"""What is said besides Kubernetes' own words: what to write instead."""

from __future__ import annotations

import pytest

from webhook.cel import BOOL, STRING, CompileProblem, Expression, Selector, compile_expression, compile_selector, excerpt

HINTS = [
    ('device.driver = "a"', "write == to compare"),
    ('device.driver == "a" and true', "write && for and"),
    ('device.driver == "a" or true', "write || for or"),
    ("not true", "write ! for not"),
    ('device.driver == "a" & true', "write && for and"),
    ("true | false", "write || for or"),
    ('device.driver == "a', 'the text has no closing quote: end it with ", or take this one away'),
    ('device.driver == a"', 'this " has no partner: put the text before it in quotes, or take it away'),
    ("device.driver == gpu.example.com", 'a text needs quotes: write "gpu.example.com"'),
    ("device.driver == 'a\"", "the text has no closing quote: end it with ', or take this one away"),
    ("device.memory", 'write device.attributes["<driver>"].memory, or device.capacity["<driver>"].memory for an amount'),
    (
        'device.capacity["d"].memory >= "40Gi"',
        'a capacity is a quantity: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'device.capacity["d"].memory == "40Gi"',
        'a capacity is a quantity: write device.capacity["d"].memory.compareTo(quantity("40Gi")) == 0',
    ),
    (
        'device.capacity["d"].memory >= quantity("40Gi")',
        'a capacity is a quantity: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'device.capacity["d"].memory > 40',
        'a capacity is a quantity, and 40 has no unit (with one: quantity("40Gi")):'
        ' write device.capacity["d"].memory.compareTo(quantity("40")) > 0',
    ),
    (
        '"40Gi" <= device.capacity["d"].memory',
        'a capacity is a quantity: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'device.capacity["d"].memory.startsWith("4")',
        'a capacity is a quantity, not a text: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    ('device.capacity["d"].memory.compareTo("40Gi")>0', 'write quantity("40Gi")'),
    ('device.capacity["d"].memory.isGreaterThan(40)', 'write quantity("40")'),
    (
        'device.attributes["d"].v.compareTo("1.2.3")>0',
        'compare a version with semver("1.2.3"), a capacity with quantity("1.2.3")',
    ),
    (
        'device.attributes["d"].v > semver("1.2.3")',
        'this is a version: write semver("1.2.3").compareTo(device.attributes["d"].v) < 0',
    ),
    (
        'device.attributes["d"].v.isGreaterThan("1.2.3")',
        'compare a version with semver("1.2.3"), a capacity with quantity("1.2.3")',
    ),
    ('has(device.attributes["d"])', 'it takes a name behind a dot: write "d" in device.attributes'),
    ('has(device.attributes["d"]["x"])', 'it takes a name behind a dot: write has(device.attributes["d"].x)'),
    ('has("x")', 'it takes a name behind a dot, as in has(device.attributes["gpu.example.com"].model)'),
    ("has(device)", 'it takes a name behind a dot, as in has(device.attributes["gpu.example.com"].model)'),
    (
        'device.capacity["memory"].compareTo(quantity("40Gi"))>0',
        'the first index is the domain, not the name: write device.capacity["<driver>"].memory',
    ),
    (
        'device.capacity.gpu.example.com.memory.compareTo(quantity("1"))>0',
        'the domain is one name: write device.capacity["gpu.example.com"].memory',
    ),
    (
        'device.capacity["d"].memory.value == 1',
        'a capacity stands for its amount: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    ("device.driver", 'it has to say true or false: compare it, as in device.driver == "..."'),
    ('device.attributes["d"].x && "a"', "&&, || and ?: take true or false: compare the value with something"),
    ('device.attributes["d"].x + 1', "it has to say true or false: compare the value with something"),
    (
        '!device.driver == "x"',
        "! binds more tightly than a comparison: write != or put the comparison in parentheses, as in !(a == b)",
    ),
    ("1 == 1.0", "both sides need one type: write int(1.0)"),
    ('contains(device.driver,"x")', 'contains is called on its value: write device.driver.contains("x")'),
    ('device.capacity["d"].memory.sign()==1', 'sign is called on nothing: write sign(device.capacity["d"].memory)'),
    ('"40Gi".quantity() == 1', 'quantity is called on nothing: write quantity("40Gi")'),
    ("device.driver == “a”", 'write a plain quote: "'),
    ('device.driver === "a"', "write == to compare: two signs are enough"),
    ('device.driver <> "a"', "write != for unequal"),
    ("if (true) true", "write condition ? value : otherwise"),
    ('device.driver in "abc"', "in wants a list or a map on its right, as in x in [...]; of a text ask x.contains(...)"),
    ("device.driver.len() == 1", "write size()"),
    ('device.attributes["d"].x == "a" "b"', "put a comma or an operator between the two"),
    ('device.attributes["d"].n > "5" && 1', "&&, || and ?: take true or false: compare the value with something"),
    ('device.attributes["d/x"] == 1', 'the first index is the domain, not the name: write device.attributes["d"].x == 1'),
    ("device.attributes.d/x == 1", 'a name with / in it needs brackets and quotes, as in ["a/b"]'),
    ('device.attributes["d"].x-y == 1', 'a name with - in it needs brackets and quotes, as in ["a-b"]'),
    ("device.attributes['d'].x == 'a", "the text has no closing quote: end it with ', or take this one away"),
    ("device.attributes[d].x == 1", 'a text needs quotes: write "d"'),
    ('quantity(40) == quantity("1")', 'it takes a text: write quantity("40")'),
    ('device.attributes["d"].x == None', "write null"),
    ('device.attributes["d"].x == True', "write true"),
    ("TRUE", "write true"),
    ('device.driver == "a";', "an expression has no semicolon: leave it out"),
    (
        "x == 1",
        'an attribute is device.attributes["gpu.example.com"].x with its driver\'s name, a capacity device.capacity[...]; '
        'a text needs quotes: "x"',
    ),
    (
        'productName == "NVIDIA A40"',
        'an attribute is device.attributes["gpu.example.com"].productName with its driver\'s name, '
        'a capacity device.capacity[...]; a text needs quotes: "productName"',
    ),
    ("1 == x", 'a text needs quotes: write "x"'),
    (
        'device.capacity["d"].type == "gpu"',
        'a capacity is a quantity, never a text such as "gpu": write device.attributes["d"].type',
    ),
    (
        'device.attributes["d"].memory >= quantity("40Gi")',
        'no attribute is a quantity, capacities are: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'quantity("40Gi") < device.attributes["d"].memory',
        'no attribute is a quantity, capacities are: write device.capacity["d"].memory.compareTo(quantity("40Gi")) > 0',
    ),
    ('attributes["d"].x == 1', "write device.attributes"),
    ("$x", "write variables by their plain names"),
    (
        'device.attributes["d"].x.matches("(")',
        "RE2 cannot read this pattern: every bracket closed, no look-around, no back references, no huge repetitions",
    ),
    ('device.attributes["d"].x like "a"', "write x.matches(...) for a pattern, x.contains(...) for a part"),
    ('device.attributes["d"].x in ("a","b")', "write a list in brackets, as in x in [a, b]"),
    ('device.attributes["d"].x in ["a" "b"]', "put a comma or an operator between the two"),
    ('device.attributes["d"].x contains "a"', "contains is called on its value: write x.contains(...)"),
    ('[1,"a"] == []', "a literal has entries of one type: wrap those of other types in dyn(...)"),
    ('device.driver == ("a"', "close what is open: )"),
    ('has(device.attributes["d"].x["y-z"])', 'it takes a name behind a dot: write "y-z" in device.attributes["d"].x'),
    (
        'device.capacity["d"].memory.lowerAscii() == "x"',
        'a capacity is a quantity, not a text: write device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    ('duration("x") == duration("1s")', 'write a duration as in duration("1h30m")'),
    ('timestamp("x") == timestamp(0)', 'write a time as in timestamp("2027-01-31T12:00:00Z")'),
    ('quantity("1") == "1"', 'a capacity is a quantity: write quantity("1").compareTo(quantity("1")) == 0'),
    ("device.driver.isEmpty()", "write size() == 0"),
    ('device.attributes["d"].v.compareTo(1) == 0', 'compare a version with semver("1"), a capacity with quantity("1")'),
    ("device.driver & true", "write && for and"),
    ('semver(1.2) == semver("1.2.0")', 'it takes a text: write semver("1.2")'),
    ('device.attributes["d"] == "x"', 'the first index is the domain, not the name: write device.attributes["<driver>"].d'),
    ('device.driver == "a" "', 'this " has no partner: put the text before it in quotes, or take it away'),
    ('device.driver == "\\d"', "a \\ in a text is written \\\\"),
    ('device.attributes["d"].x ==', ""),
    (
        'quantity("40Gi").compareTo(device.capacity.memory) == 0',
        'what comes first is the domain, not the name: write device.capacity["<driver>"].memory',
    ),
    (
        'quantity("40Gi").startsWith("4")',
        'a capacity is a quantity, not a text: compare it, as in x.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'device.capacity["d"].memory.compareTo(true) == 0',
        'a quantity is compared with another one, as in x.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'quantity("40Gi").value == 1',
        'a capacity stands for its amount: compare it, as in x.compareTo(quantity("40Gi")) >= 0',
    ),
    ('quantity("40Gi")', 'it has to say true or false: compare it, as in x.compareTo(quantity("40Gi")) >= 0'),
    (
        'device.capacity["d"].memory',
        'it has to say true or false: compare it, as in device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        'device.capacity["d.io"] == "40Gi"',
        'device.capacity["d.io"] is a whole domain: say what of it, as in device.capacity["d.io"].memory'
        '.compareTo(quantity("40Gi")) == 0',
    ),
    (
        'device.capacity == quantity("40Gi")',
        'device.capacity holds all domains: say what of it, as in device.capacity["<driver>"].memory'
        '.compareTo(quantity("40Gi")) == 0',
    ),
    ('quantity("1") == semver("1.2.3")', "compare values of one type: an amount and a version are never equal"),
    (
        'device.memory == quantity("40Gi")',
        'write device.attributes["<driver>"].memory, or device.capacity["<driver>"].memory for an amount',
    ),
    (
        'has(device.attributes["gpu.example.com/model"])',
        'the domain and the name are two keys: write has(device.attributes["gpu.example.com"].model)',
    ),
    ("device.nope.more == 1", 'write device.attributes["<driver>"].nope, or device.capacity["<driver>"].nope for an amount'),
]


NAME = 'device.attributes["d.io"].productName'

PATTERNS = [
    (f'{NAME} =~ "A100"', "=~", f'{NAME}.matches("A100")'),
    (f"{NAME}=~'A100'", "=~", f"{NAME}.matches('A100')"),
    (f"{NAME} =~ /^A100.*$/", "=~", f'{NAME}.matches("^A100.*$")'),
    (f'{NAME} !~ "A100"', "!~", f'!{NAME}.matches("A100")'),
    (f'{NAME} ~ "A100"', "~", f'{NAME}.matches("A100")'),
    (f'{NAME} ~= "A100"', "~=", f'{NAME}.matches("A100")'),
    (f'true && ({NAME}.lowerAscii() =~ r"a[0-9]") && true', "=~", f'{NAME}.lowerAscii().matches(r"a[0-9]")'),
    (f'{NAME} !~ "*A100*"', "!~", f'!{NAME}.contains("A100")'),
    ('device.capacity["d.io"].productName =~ "A100"', "=~", f'{NAME}.matches("A100")'),
    ('device.attributes.productName =~ "A100"', "=~", 'device.attributes["<driver>"].productName.matches("A100")'),
    ('device.capacity["productName"] =~ "A100"', "=~", 'device.attributes["<driver>"].productName.matches("A100")'),
    ('device.productName =~ "A100"', "=~", 'device.attributes["<driver>"].productName.matches("A100")'),
    ('device.driver =~ "A100" || true', "=~", 'device.driver.matches("A100")'),
]


@pytest.mark.parametrize(("text", "sign", "offered"), PATTERNS, ids=[text for text, _, _ in PATTERNS])
def test_pattern_operators_of_other_languages(text: str, sign: str, offered: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [f"{sign} is no operator of CEL: write {offered}"]
    assert isinstance(compile_selector(offered), Selector)


@pytest.mark.parametrize(
    "text",
    [
        '(true ? "a" : "b") =~ "A100"',
        f'{NAME} =~ "A" + "B"',
        f"{NAME} =~ A100",
        f"{NAME} =~",
        'device.attributes["d.io"] =~ "x"',
    ],
)
def test_patterns_that_cannot_be_written_out(text: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [
        '=~ and !~ are no operators of CEL: ask x.matches("A100"), or !x.matches("A100")'
    ]


ALL = 'device.attributes["d.io"]'
AMOUNT = 'device.capacity["d.io"].memory'

#: Optional values in the place of plain ones, and what is offered.
OPTIONAL = [
    (f'{ALL}.?productName == "x"', f'{ALL}.?productName.orValue("") == "x"'),
    (f'"x" == {ALL}.?productName', f'{ALL}.?productName.orValue("") == "x"'),
    (f'{ALL}[?"productName"] == "x"', f'{ALL}[?"productName"].orValue("") == "x"'),
    (f"{ALL}.?index == 3", f"{ALL}.?index.orValue(0) == 3"),
    (f"{ALL}.?ecc == true", f"{ALL}.?ecc.orValue(false) == true"),
    # What is not there would do.
    (f'{ALL}.?productName != "x"', f'has({ALL}.productName) && {ALL}.productName != "x"'),
    (f'{ALL}.?productName == ""', f'has({ALL}.productName) && {ALL}.productName == ""'),
    (f"{ALL}.?ecc == false", f"has({ALL}.ecc) && {ALL}.ecc == false"),
    (f"{ALL}.?index < 3", f"has({ALL}.index) && {ALL}.index < 3"),
    (f"3 > {ALL}.?index", f"has({ALL}.index) && {ALL}.index < 3"),
    (f'{ALL}[?"in-dex"] < 3', f'"in-dex" in {ALL} && {ALL}["in-dex"] < 3'),
    # Amounts and versions.
    (
        'device.capacity["d.io"].?memory >= quantity("40Gi")',
        f'has({AMOUNT}) && {AMOUNT}.compareTo(quantity("40Gi")) >= 0',
    ),
    ('device.capacity["d.io"].?memory >= "40Gi"', f'has({AMOUNT}) && {AMOUNT}.compareTo(quantity("40Gi")) >= 0'),
    (f'{ALL}.?memory >= quantity("40Gi")', f'has({AMOUNT}) && {AMOUNT}.compareTo(quantity("40Gi")) >= 0'),
    (f'semver("1.2.3") <= {ALL}.?version', f'has({ALL}.version) && {ALL}.version.compareTo(semver("1.2.3")) >= 0'),
    (
        'device.capacity["d.io"].?v >= semver("1.2.3")',
        f'has({ALL}.v) && {ALL}.v.compareTo(semver("1.2.3")) >= 0',
    ),
    # Calls.
    (f'{ALL}.?productName.matches("x")', f'has({ALL}.productName) && {ALL}.productName.matches("x")'),
    ('device.capacity["d.io"].?memory.isLessThan(quantity("1"))', f'has({AMOUNT}) && {AMOUNT}.isLessThan(quantity("1"))'),
    (f'{ALL}.?productName.lowerAscii() == "x"', f'{ALL}.?productName.orValue("").lowerAscii()'),
    (
        f'{ALL}.?version.compareTo(semver("1.2.3")) > 0',
        f'{ALL}.?version.orValue(semver("0.0.0")).compareTo(semver("1.2.3"))',
    ),
    (
        'device.capacity["d.io"].?memory.compareTo(quantity("1")) > 0',
        'device.capacity["d.io"].?memory.orValue(quantity("0")).compareTo(quantity("1"))',
    ),
    # Lists.
    (f'{ALL}.?type in ["a", "b"]', f'has({ALL}.type) && {ALL}.type in ["a", "b"]'),
    (f"3 in {ALL}.?lanes", f"has({ALL}.lanes) && 3 in {ALL}.lanes"),
    # Patterns.
    (f'{ALL}.?productName.matches("*A100*")', f'has({ALL}.productName) && {ALL}.productName.contains("A100")'),
    # Conditions.
    (f"{ALL}.?ecc ? true : false", f"{ALL}.?ecc.orValue(false)"),
    (f"{ALL}.?ecc", f"{ALL}.?ecc.orValue(false)"),
    (f"!{ALL}.?ecc", f"!{ALL}.?ecc.orValue(false)"),
    (f"{ALL}.?ecc && true", f"{ALL}.?ecc.orValue(false)"),
]


@pytest.mark.parametrize(("text", "offered"), OPTIONAL, ids=[text for text, _ in OPTIONAL])
def test_optional_values(text: str, offered: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [f".? and [?] give an optional value: write {offered}"]
    assert any(isinstance(compile_selector(whole), Selector) for whole in (offered, f"dyn({offered}) == dyn(1)"))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            'device.capacity["d.io"].?memory > 40',
            '.? and [?] give an optional value, and 40 has no unit (with one: quantity("40Gi")):'
            f' write has({AMOUNT}) && {AMOUNT}.compareTo(quantity("40")) > 0',
        ),
        *(
            (text, ".? and [?] give an optional value: take the plain one out of it with .orValue(...)")
            for text in (
                'device.capacity["d.io"].?memory == "big"',
                'device.attributes[?"d.io"].?index > 3',
                f'"abc".contains({ALL}.?productName)',
                f"{ALL}.?productName.startsWith(3)",
                'device.capacity["d.io"].?memory.lowerAscii() == "x"',
                'device.capacity["d.io"].?memory.compareTo(semver("1.2.3")) > 0',
                'device.capacity["d.io"].?memory in ["a"]',
                "[1][?0] > 1",
                f'{ALL}.?productName.matches("[")',
                f'{ALL}.?a > device.capacity["d.io"].?b',
            )
        ),
    ],
)
def test_optional_values_that_need_more(text: str, hint: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [hint]


ANY = '* has nothing before it to repeat (any text is ".*"): write '

#: Patterns with signs that repeat nothing.
REPEATING = [
    ("*A100*", '* has nothing before it to repeat: ".*A100.*" is meant, or shorter: write ', 'contains("A100")'),
    ("*A100", ANY, 'matches(".*A100")'),
    ("*", ANY, 'matches(".*")'),
    ("*Tesla*T4.1*", ANY, 'matches(".*Tesla.*T4.1.*")'),
    ("A|*B", ANY, 'matches("A|.*B")'),
    ("a(*b)", ANY, 'matches("a(.*b)")'),
    ("a(?:*b)", ANY, 'matches("a(?:.*b)")'),
    ("+A", '+ has nothing before it to repeat (the sign itself is "\\\\+"): write ', 'matches("\\\\+A")'),
    ("?A", '? has nothing before it to repeat (the sign itself is "\\\\?"): write ', 'matches("\\\\?A")'),
]


@pytest.mark.parametrize(("pattern", "what", "offered"), REPEATING, ids=[pattern for pattern, _, _ in REPEATING])
def test_signs_that_repeat_nothing(pattern: str, what: str, offered: str) -> None:
    problems = compile_selector(f'{NAME}.matches("{pattern}")')
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [f"{what}{NAME}.{offered}"]
    assert isinstance(compile_selector(f"{NAME}.{offered}"), Selector)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f'{NAME}.matches("?A[")', '? has nothing before it to repeat (the sign itself is "\\\\?")'),
        (
            f'{NAME}.matches("(?=a)*")',
            "RE2 cannot read this pattern: every bracket closed, no look-around, no back references, no huge repetitions",
        ),
    ],
)
def test_patterns_of_which_it_is_not_known_what_is_meant(text: str, hint: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [hint]


FIRST, NAMED = "what comes first is the domain, not the name", 'device.capacity["<driver>"].memory'
INDEX = "the first index is the domain, not the name"

#: A comparison, what is said, and what is offered in the place of all of it.
WHOLE = [
    # A name where the domain is wanted.
    ('device.capacity.memory == quantity("40Gi")', FIRST, f'{NAMED}.compareTo(quantity("40Gi")) == 0'),
    ('device.capacity.memory >= quantity("40Gi")', FIRST, f'{NAMED}.compareTo(quantity("40Gi")) >= 0'),
    ('quantity("40Gi") < device.capacity.memory', FIRST, f'{NAMED}.compareTo(quantity("40Gi")) > 0'),
    ('device.capacity["memory"] != quantity("40Gi")', INDEX, f'{NAMED}.compareTo(quantity("40Gi")) != 0'),
    (
        'device.capacity["d.io/memory"] == quantity("40Gi")',
        INDEX,
        'device.capacity["d.io"].memory.compareTo(quantity("40Gi")) == 0',
    ),
    (
        'device.capacity["d.io/mem-ory"] == quantity("40Gi")',
        INDEX,
        'device.capacity["d.io"]["mem-ory"].compareTo(quantity("40Gi")) == 0',
    ),
    ('device.capacity.memory >= "40Gi"', FIRST, f'{NAMED}.compareTo(quantity("40Gi")) >= 0'),
    (
        "40 < device.capacity.memory",
        f'{FIRST}, and 40 has no unit (with one: quantity("40Gi"))',
        f'{NAMED}.compareTo(quantity("40")) > 0',
    ),
    ("device.capacity.memory > 42949672960", FIRST, f'{NAMED}.compareTo(quantity("42949672960")) > 0'),
    (
        'device.capacity.memory > device.capacity["d.io"].cache',
        FIRST,
        f'{NAMED}.compareTo(device.capacity["d.io"].cache) > 0',
    ),
    ("device.capacity.memory > device.capacity.cache", FIRST, f'{NAMED}.compareTo(device.capacity["<driver>"].cache) > 0'),
    (
        'semver("1.2.3") == device.attributes.version',
        FIRST,
        'device.attributes["<driver>"].version.compareTo(semver("1.2.3")) == 0',
    ),
    (
        'device.capacity["d\\"io/memory"] == quantity("40Gi")',
        INDEX,
        'device.capacity["d\\"io"].memory.compareTo(quantity("40Gi")) == 0',
    ),
    # Versions and amounts.
    (
        'device.capacity["d.io"].v >= semver("1.2.3")',
        "a capacity is a quantity, never a version",
        'device.attributes["d.io"].v.compareTo(semver("1.2.3")) >= 0',
    ),
    (
        'semver("1.2.3") < device.capacity["d.io"].v',
        "a capacity is a quantity, never a version",
        'device.attributes["d.io"].v.compareTo(semver("1.2.3")) > 0',
    ),
    ('device.capacity.v == semver("1.2.3")', FIRST, 'device.attributes["<driver>"].v.compareTo(semver("1.2.3")) == 0'),
    ('device.attributes.memory >= quantity("1")', FIRST, f'{NAMED}.compareTo(quantity("1")) >= 0'),
    ("device.attributes.index >= 3", FIRST, 'device.attributes["<driver>"].index >= 3'),
]


@pytest.mark.parametrize(("text", "what", "offered"), WHOLE, ids=[text for text, _, _ in WHOLE])
def test_a_whole_comparison_is_offered(text: str, what: str, offered: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert [problem.hint for problem in problems] == [f"{what}: write {offered}"]
    assert isinstance(compile_selector(offered), Selector)


@pytest.mark.parametrize(("text", "hint"), HINTS, ids=[text for text, _ in HINTS])
def test_hint(text: str, hint: str) -> None:
    problems = compile_selector(text)
    assert not isinstance(problems, Selector)
    assert hint in [problem.hint for problem in problems]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("device.driver == 'x'", "only selectors have a device; here there are ready, tier"),
        ("tier == batch", 'a text needs quotes: write "batch"'),
        ("tier = 'batch'", "write == to compare"),
        ("ready && tier", "&&, || and ?: take true or false: compare the value with something"),
    ],
)
def test_hints_of_policies(text: str, hint: str) -> None:
    found = compile_expression(text, variables={"tier": STRING, "ready": BOOL}, result="bool")
    assert not isinstance(found, Expression)
    assert [problem.hint for problem in found] == [hint]


@pytest.mark.parametrize(
    "paste",
    [
        'device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0',
        'semver("1.2.3").compareTo(device.attributes["d"].v) < 0',
        'has(device.attributes["d"].x)',
        'device.driver.contains("x")',
        'sign(device.capacity["d"].memory) == 1',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1"))',
        'device.driver.matches("\\\\d")',
    ],
)
def test_what_hints_say_compiles(paste: str) -> None:
    assert isinstance(compile_selector(paste), Selector)


def test_many_mistakes_are_each_told_but_likened_only_at_first() -> None:
    problems = compile_selector(" && ".join(["containz('a')"] * 20))
    assert isinstance(problems, tuple)
    near = [problem for problem in problems if "did you mean" in problem.message]
    assert (len(problems), len(near)) == (20, 8)


EXCERPTS = [
    ("device.driver = 'a'", 1, 15, "device.driver = 'a'\n              ^"),
    ("true &&\n  device.nope", 2, 9, "device.nope\n      ^"),
    ("\ttrue\t&& nope", 1, 10, "true && nope\n        ^"),
    ("'\u4e16\u754c' == nope", 1, 9, "'\u4e16\u754c' == nope\n          ^"),
    ("'e\u0301' == nope", 1, 9, "'e\u0301' == nope\n       ^"),
    ("'\x00' == nope", 1, 8, "' ' == nope\n       ^"),
    ("true &&", 1, 8, "true &&\n       ^"),
    ("a\u2028b", 1, 2, "a\u2028b\n ^"),
    ("x" * 200 + "!" + "y" * 200, 1, 201, "..." + "x" * 50 + "!" + "y" * 49 + "...\n" + " " * 53 + "^"),
    ("true", 3, 1, ""),
    ("", 1, 1, ""),
]


@pytest.mark.parametrize(("text", "line", "column", "shown"), EXCERPTS, ids=range(len(EXCERPTS)))
def test_excerpt(text: str, line: int, column: int, shown: str) -> None:
    assert excerpt(CompileProblem("", line, column), text) == shown


def test_excerpt_with_a_note() -> None:
    assert excerpt(CompileProblem("", 1, 6), "true nope", "here") == "true nope\n     ^ here"
