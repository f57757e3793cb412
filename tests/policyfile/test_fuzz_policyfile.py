"""Whatever bytes a policy file holds: a PolicySet or PolicyErrors, never anything else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from webhook.errors import PolicyErrors, Problem
from webhook.policyfile import parse_policies, render_problem

SEEDS = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*/*.yaml"))]
TOKENS = [
    *(b"---\n", b"...\n", b": ", b"- ", b"? ", b"{", b"}", b"[", b"]", b",", b'"', b"'", b"|", b">", b"#", b"\n", b"  ", b"\t"),
    *(b"&a ", b"*a", b"!!int ", b"!", b"%", b"@", b"\x00", b"\xff", b"\r", b"\xe2\x80\xa8", b"\xc2\x85", b"\\ud800"),
    *(
        b"\\UFFFFFFFF",
        b"%YAML 9.9\n",
        b"<<",
        b"null",
        b".nan",
        b"1e999",
        b"0x",
        b"9" * 5000,
        b"apiVersion: fallgate.dev/v1alpha1\n",
    ),
]


def problems_of(data: bytes) -> tuple[Problem, ...] | None:
    """What is wrong with the file, None when it loads."""
    try:
        parse_policies([("fuzz.yaml", data)])
    except PolicyErrors as errors:
        return errors.problems
    return None


def survives(data: bytes) -> None:
    problems = problems_of(data)
    assert problems is None or any(not problem.warning for problem in problems)
    for problem in problems or ():
        render_problem(problem).encode()


@given(st.binary(max_size=300))
@example(b"%YAML " + b"9" * 5000 + b".1\n--- a")
@example(b'"\\UFFFFFFFF"')
@example(b"--- &a\n- *a\n")
@example(b"kind: {a: b}\napiVersion: [x]\n")
def test_any_bytes(data: bytes) -> None:
    survives(data)


@given(st.lists(st.sampled_from(TOKENS), max_size=40))
def test_pieces_of_yaml(tokens: list[bytes]) -> None:
    survives(b"".join(tokens))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A part of a policy file with a few pieces cut out, doubled or put in."""
    seed = draw(st.sampled_from(SEEDS))
    start = draw(st.integers(0, len(seed)))
    data = bytearray(seed[start : start + 800] if draw(st.booleans()) else seed)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        piece = draw(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=3), st.just(bytes(data[at : at + 20]))))
        data[at : at + draw(st.integers(0, 12))] = piece
    return bytes(data)


@settings(deadline=None)
@given(mutated())
def test_mutated_policy_files(data: bytes) -> None:
    survives(data)
