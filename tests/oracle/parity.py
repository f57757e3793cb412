"""The live comparison with Kubernetes' own libraries: `make parity`, or `python -m tests.oracle.parity`.

Random selectors on random devices, random expressions of any type, then random clusters and claims. Every run has fresh ones:
PARITY_SEED repeats a run, PARITY_EXPRESSIONS (200,000), PARITY_VALUES (50,000) and PARITY_CASES (20,000) say how many. Ends
with 1 when something differs, with 2 when there is nobody to ask. With `--brief` it is a short run, which says so
and ends with 0 when there is nobody to ask.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.oracle.allocation import (
    World,
    certainty_differs,
    count_nodes,
    gave_up,
    handed_out,
    question,
    reachable_questions,
    unreachable_shapes,
    unsound,
    world_of,
)
from tests.oracle.calls import calls, selectors
from tests.oracle.client import VERSION, Oracle, OracleMissing
from tests.oracle.expressions import devices, expressions
from tests.oracle.fleets import random_case
from tests.oracle.mutations import devices_for, mutants
from tests.oracle.ours import outcomes, selector_answer, to_device
from tests.oracle.values import answers

#: What we say instead of a traceback.
_CRASHED = re.compile(r"internal error: \w+$")
#: How often the judge is asked again where it differs from us.
_REPEATS = 12
#: Differences that are shown of each comparison.
_SHOWN = 20
#: From so many selectors on, those that once differed are asked too.
_MANY = 1_000
#: Values do not depend on a device.
BARE = to_device({"driver": "d.io", "attributes": {}, "capacity": {}})


def main(arguments: Sequence[str] = ()) -> int:
    """Runs all comparisons; the exit status."""
    brief = "--brief" in arguments
    seed = int(os.environ.get("PARITY_SEED") or random.SystemRandom().randrange(2**32))
    say(f"judge: k8s.io/dynamic-resource-allocation v{VERSION}; PARITY_SEED={seed}")
    try:
        with Oracle() as oracle:
            differ = compare_selectors(oracle, _number("EXPRESSIONS", 5_000 if brief else 200_000), seed)
            differ += compare_values(oracle, _number("VALUES", 3_000 if brief else 50_000), seed)
            differ += compare_allocations(oracle, _number("CASES", 500 if brief else 20_000), seed)
    except OracleMissing as missing:
        if brief:
            say(f"SKIPPED: no live comparison with Kubernetes' libraries, the recorded answers have to do: {missing}")
            return 0
        say(f"no live comparison here: {missing}")
        return 2
    return 1 if differ else 0


def _number(what: str, default: int) -> int:
    return int(os.environ.get(f"PARITY_{what}", default))


def say(text: str) -> None:
    """One line for whoever waits."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# Selectors.


def found() -> list[str]:
    """Expressions that once differed."""
    lines = (Path(__file__).parent / "found.txt").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def selector_questions(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Random selectors, each with three random devices: half by grammar, the others from the function table and by mutation."""
    rng = random.Random(seed + 1)
    if number >= _MANY:
        yield from ({"id": text, "expression": text, "devices": devices(rng)} for text in found())
    styles = (expressions(number, seed), selectors(number, seed), mutants(number, seed))
    for i in range(number):
        style = rng.choice((0, 0, 1, 2))
        text = next(styles[style])
        yield {"id": i, "expression": text, "devices": devices_for(text, rng) if style == 2 else devices(rng)}


def compare_selectors(oracle: Oracle, number: int, seed: int, counts: Counter[str] | None = None) -> int:
    """Compares outcomes and costs of `number` random selectors; prints and adds up counts; gives the number of differences."""
    counts = Counter() if counts is None else counts
    suspects: list[tuple[Mapping[str, Any], dict[str, Any]]] = []
    for asked, judged in oracle.stream(selector_questions(number, seed)):
        ours = answer_of_ours(asked)
        if list(selector_differs(judged, ours, counts)):
            suspects.append((asked, ours))
    differences = 0
    for asked, ours in suspects:
        judged, repeats = ask_again(oracle, asked)
        found = list(selector_differs(judged, ours, Counter(), repeats))
        if not found:
            counts["the judge itself answers differently each time"] += 1
            continue
        differences += 1
        if differences <= _SHOWN:
            say(f"{', '.join(found)}: {asked['expression']!r}\n  judge {judged}\n  ours  {ours}\n  {json.dumps(asked)}")
    _report("selectors", number, differences, counts)
    return differences


def answer_of_ours(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a question about a selector."""
    return selector_answer(asked["expression"], map(to_device, asked["devices"]))


def ask_again(oracle: Oracle, asked: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[int]]:
    """An answer, and the devices of which the judge says something else each time: it goes through maps in random order."""
    answers = [oracle.ask(asked) for _ in range(_REPEATS)]
    first = answers[0]
    if first.get("compile"):
        return first, frozenset()
    # Some messages have addresses in them.
    seen = [{(outcomes(answer)[i], answer["cost"][i]) for answer in answers} for i in range(len(first["verdict"]))]
    return first, frozenset(i for i, found in enumerate(seen) if len(found) > 1)


def selector_differs(
    judged: dict[str, Any], ours: dict[str, Any], counts: Counter[str], except_for: frozenset[int] = frozenset()
) -> Iterator[str]:
    """What differs between two answers, some devices left out; counts what was compared."""
    expected, actual = outcomes(judged), outcomes(ours)
    counts.update(f"judge says {outcome}" for outcome in expected)
    counts["outcomes equal"] += expected == actual
    if _without(expected, except_for) != _without(actual, except_for):
        yield "outcome"
    if any(map(_CRASHED.search, (*ours.get("verdict", ()), ours.get("compile", "")))):
        yield "our own error"
    if judged.get("compile") or ours.get("compile"):
        return
    counts["accepted by both"] += 1
    counts["messages equal"] += judged["verdict"] == ours["verdict"]
    counts["maxCost equal"] += judged["maxCost"] == ours["maxCost"]
    counts["cost equal"] += judged["cost"] == ours["cost"]
    if judged["maxCost"] != ours["maxCost"]:
        yield "maxCost"
    if _without(judged["cost"], except_for) != _without(ours["cost"], except_for):
        yield "cost"


def _without(answers: Sequence[Any], except_for: frozenset[int]) -> list[Any]:
    return [answer for i, answer in enumerate(answers) if i not in except_for]


# Values of any type.


def compare_values(oracle: Oracle, number: int, seed: int, counts: Counter[str] | None = None) -> int:
    """Compares the values of `number` random expressions of any type, as compare_selectors does."""
    counts = Counter() if counts is None else counts
    suspects = []
    for asked, judged in oracle.stream(value_questions(number, seed)):
        wanted = value_outcome(judged)
        counts[f"judge has {'a value' if 'value' in wanted else next(iter(wanted))}"] += 1
        if any(value_outcome(ours) != wanted for ours in answers(asked["value"], BARE)):
            suspects.append(asked)
    differences = 0
    for asked in suspects:
        judged_all = [oracle.ask(asked) for _ in range(_REPEATS)]
        wanted, ours = value_outcome(judged_all[0]), answers(asked["value"], BARE)
        if any(value_outcome(judged) != wanted for judged in judged_all):
            counts["the judge itself answers differently each time"] += 1
        elif any(value_outcome(answer) != wanted for answer in ours):
            differences += 1
            if differences <= _SHOWN:
                say(f"value: {asked['value']!r}\n  judge {judged_all[0]}\n  ours  {ours}")
    _report("values", number, differences, counts)
    return differences


def value_questions(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Random expressions of any type. None names a device: there is none behind the question for a value."""
    return ({"id": i, "value": text} for i, text in enumerate(calls(number, seed)) if "device" not in text)


def value_outcome(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What of a value has to be the same: that there is none, or its text."""
    if answer.get("compile"):
        return {"compile error": True}
    return {"error": True} if "error" in answer else {"value": _GO_FORMAT.sub(_format_name, answer.get("value", ""))}


#: How Go spells a named format: with the address of its function.
_GO_FORMAT = re.compile(r"\{(\w+) %!s\(func\(string\) \[\]string=0x[0-9a-f]+\) %!s\(int=\d+\)\}")


def _format_name(found: re.Match[str]) -> str:
    return f"format {found[1].lower()}"


# Allocations.


def compare_allocations(oracle: Oracle, number: int, seed: int) -> int:
    """Compares shapes and certain errors in `number` random cases; prints counts; returns the number of differences."""
    counts: Counter[str] = Counter()
    differences = 0
    for i in range(number):
        name = f"{seed}-{i}"
        for found in case_differs(oracle, name, counts):
            differences += 1
            if differences <= _SHOWN:
                say(f"case {name}: {found}")
    _report("allocations", number, differences, counts)
    return differences


def case_differs(oracle: Oracle, name: str, counts: Counter[str]) -> Iterator[str]:
    """What differs in the case of that name."""
    rng = random.Random(name)
    world = world_of(random_case(rng))
    nodes = [node["metadata"]["name"] for node in world.case.nodes]
    for idle in (False, True):
        answer = oracle.ask({"id": name, **question(world.case, idle=idle)})
        if gave_up(answer):
            counts["the judge gave up"] += 1
            continue
        count_nodes(answer, counts)
        yield from unsound(world, answer)
        if idle:
            counts["shapes said to be unreachable"] += unreachable_shapes(world)
            for some in (nodes, nodes[:1]):
                expected, differs = certainty_differs(world, answer, some)
                counts["certain errors" if expected else "no certain error"] += 1
                if differs:
                    yield differs
    yield from _unreached(oracle, world, rng, counts)


def _unreached(oracle: Oracle, world: World, rng: random.Random, counts: Counter[str]) -> Iterator[str]:
    reached: dict[str, bool] = {}
    for pointer, asked, shape in reachable_questions(world, rng):
        name = f"{pointer}: {shape}"
        if not reached.get(name):
            reached[name] = handed_out(world, oracle.ask({"id": name, **asked}), shape)
    counts["shapes handed out"] += sum(reached.values())
    yield from (f"{name} is listed and never handed out" for name, found in reached.items() if not found)


def _report(what: str, number: int, differences: int, counts: Counter[str]) -> None:
    say(f"{what}: {number:,} asked, {differences:,} differ")
    for name in sorted(counts):
        say(f"  {name}: {counts[name]:,}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
