"""Answers of the judge, written down for machines without Go: `python -m tests.oracle.recorded [SEED]` records them anew.

Each file says in its first line who judged and from which seed. What is recorded is what the judge said, whatever we say; only
answers that it does not repeat are left out.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.oracle.allocation import World, gave_up, handed_out, question, reachable_questions, unconstrained_shapes, world_of
from tests.oracle.client import OLDER, VERSION, Oracle, build_older
from tests.oracle.expressions import devices
from tests.oracle.fleets import Case, random_case
from tests.oracle.mutations import published_devices
from tests.oracle.ours import outcomes
from tests.oracle.parity import ask_again, found, say, selector_questions, value_outcome, value_questions

Row = dict[str, Any]

FOLDER = Path(__file__).parent / "recorded"
SELECTORS = FOLDER / f"selectors-{VERSION}.jsonl.gz"
VALUES = FOLDER / f"values-{VERSION}.jsonl.gz"
ALLOCATIONS = FOLDER / f"allocations-{VERSION}.jsonl.gz"
#: Feature gates of earlier releases that make a difference to selectors, as Kubernetes calls them.
GATES: dict[int, tuple[tuple[str, ...], ...]] = {34: ((),), 35: ((),), 36: ((), ("DRAListTypeAttributes",))}
_EXPRESSIONS = 5000
_OLDER_EXPRESSIONS = 1500
_VALUES = 5000
_CASES = 500
_DEVICES = 50


def older_selectors(minor: int) -> Path:
    """What an earlier release said of selectors."""
    return FOLDER / f"selectors-{OLDER[minor]}.jsonl.gz"


def read(path: Path) -> list[Row]:
    """The rows of a file of recorded answers; the first says who judged."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.parent.mkdir(exist_ok=True)
    # Without a time stamp the same answers are the same file.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _head(version: str, seed: int) -> Row:
    return {"judge": f"k8s.io/dynamic-resource-allocation v{version}", "seed": seed}


def main(seed: int) -> None:
    """Asks the judge and writes all files."""
    known = [*devices(random.Random(seed), _DEVICES), *published_devices()]
    with Oracle() as oracle:
        _write(SELECTORS, [_head(VERSION, seed) | {"devices": known}, *_selectors(oracle, known, seed, _EXPRESSIONS)])
        _write(VALUES, [_head(VERSION, seed), *_values(oracle, seed)])
        _write(ALLOCATIONS, [_head(VERSION, seed), *_allocations(oracle, seed)])
    for minor, combinations in GATES.items():
        rows = [_head(OLDER[minor], seed) | {"devices": known}]
        for gates in combinations:
            with Oracle(build_older(minor)) as oracle:
                rows += _selectors(oracle, known, seed + minor + len(gates), _OLDER_EXPRESSIONS, gates, lists=minor >= 36)
        _write(older_selectors(minor), rows)


# Selectors and values.


def _selectors(
    oracle: Oracle, known: list[Row], seed: int, number: int, gates: tuple[str, ...] = (), *, lists: bool = True
) -> Iterator[Row]:
    """Random selectors and those of found.txt. Without `lists` no device has attributes that the release cannot hold."""
    rng = random.Random(seed)
    possible = [i for i, device in enumerate(known) if lists or not _has_lists(device)]
    texts = [*found(), *(asked["expression"] for asked in selector_questions(number, seed))]
    left_out = 0
    for text in dict.fromkeys(texts):
        chosen = rng.sample(possible, 3)
        asked = {"id": 0, "expression": text, "devices": [known[i] for i in chosen], "gates": _as_fields(gates)}
        judged, varying = ask_again(oracle, asked)
        if varying or "\ufffd" in text:
            left_out += 1
            continue
        row: Row = {"expression": text} | ({"gates": gates} if gates else {})
        if not judged.get("compile"):
            row |= {"devices": chosen, "verdict": outcomes(judged), "maxCost": judged["maxCost"], "cost": judged["cost"]}
        yield row
    say(f"{left_out} selectors left out: the judge does not repeat itself")


def _as_fields(gates: Iterable[str]) -> list[str]:
    """Gates as the program in `older` names them."""
    return ["ConsumableCapacity", *(gate.removeprefix("DRA") for gate in gates)]


def _has_lists(device: Row) -> bool:
    return any(kind.endswith("s") for value in device["attributes"].values() for kind in value)


def _values(oracle: Oracle, seed: int) -> Iterator[Row]:
    for asked in value_questions(_VALUES, seed):
        answers = [value_outcome(oracle.ask(asked)) for _ in range(4)]
        if all(answer == answers[0] for answer in answers) and "\ufffd" not in asked["value"]:
            yield {"expression": asked["value"]} | answers[0]


# Allocations.


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A case, and what the allocator did with it: when others hold devices, when nobody does, shape by shape."""

    case: Case
    held: Row
    idle: Row
    reached: Mapping[str, list[str]]


def recorded_case(row: Row) -> RecordedCase:
    """The case of a row."""
    fields = {key: tuple(map(_hashable, value)) if isinstance(value, list) else value for key, value in row["case"].items()}
    return RecordedCase(Case(**fields), row["held"], row["idle"], row["reached"])


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _allocations(oracle: Oracle, seed: int) -> Iterator[Row]:
    said: Counter[str] = Counter()
    for i in range(_CASES):
        rng = random.Random(f"{seed}-{i}")
        world = world_of(random_case(rng))
        held = oracle.ask({"id": i, **question(world.case, idle=False)})
        idle = oracle.ask({"id": i, **question(world.case, idle=True)})
        if gave_up(held) or gave_up(idle):
            said["the allocator gave up"] += 1
            continue
        yield {"case": asdict(world.case), "held": held, "idle": idle, "reached": _reached(oracle, world, rng)}
    say(f"cases left out: {dict(said)}")


def _reached(oracle: Oracle, world: World, rng: random.Random) -> dict[str, list[str]]:
    """By alternative: the shapes that were handed out of those that are listed."""
    found: dict[str, list[str]] = {pointer: [] for pointer in unconstrained_shapes(world)}
    for pointer, asked, shape in reachable_questions(world, rng, most_shapes=sys.maxsize):
        if str(shape) not in found[pointer] and handed_out(world, oracle.ask({"id": 0, **asked}), shape):
            found[pointer].append(str(shape))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(2**32))
