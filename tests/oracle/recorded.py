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
from tests.oracle.client import VERSION, Oracle
from tests.oracle.expressions import devices, expressions
from tests.oracle.fleets import Case, random_case
from tests.oracle.ours import outcomes
from tests.oracle.parity import ask_again, say

Row = dict[str, Any]

FOLDER = Path(__file__).parent / "recorded"
SELECTORS = FOLDER / f"selectors-{VERSION}.jsonl.gz"
ALLOCATIONS = FOLDER / f"allocations-{VERSION}.jsonl.gz"
_EXPRESSIONS = 4000
_CASES = 400
_DEVICES = 60


def read(path: Path) -> list[Row]:
    """The rows of a file of recorded answers; the first says who judged."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.parent.mkdir(exist_ok=True)
    # Without a time stamp the same answers are the same file.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main(seed: int) -> None:
    """Asks the judge and writes both files."""
    judge = {"judge": f"k8s.io/dynamic-resource-allocation v{VERSION}", "seed": seed}
    with Oracle() as oracle:
        known = devices(random.Random(seed), _DEVICES)
        _write(SELECTORS, [judge | {"devices": known}, *_selectors(oracle, known, seed)])
        _write(ALLOCATIONS, [judge, *_allocations(oracle, seed)])


# Selectors.


def _selectors(oracle: Oracle, known: list[Row], seed: int) -> Iterator[Row]:
    rng = random.Random(seed)
    left_out = 0
    for text in dict.fromkeys(expressions(_EXPRESSIONS, seed)):
        chosen = rng.sample(range(len(known)), 3)
        judged, varying = ask_again(oracle, {"id": 0, "expression": text, "devices": [known[i] for i in chosen]})
        if varying or "\ufffd" in text:
            left_out += 1
        elif judged.get("compile"):
            yield {"expression": text}
        else:
            said = {"verdict": outcomes(judged), "maxCost": judged["maxCost"], "cost": judged["cost"]}
            yield {"expression": text, "devices": chosen, **said}
    say(f"{left_out} selectors left out: the judge does not repeat itself")


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
