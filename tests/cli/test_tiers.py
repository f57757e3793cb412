"""`fallgate tiers`: lists and models in a tenant's words."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from webhook.cli.tiering import alternative_words, ask_words
from webhook.rulekit.policies import TierAlternative, TierAsk

MORE = """\
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: base-list}
spec:
  mode: warn
  tier: base
  default: true
  match: {excludeNamespaces: [ops-*]}
  targets: [claims]
  asks:
  - match: {deviceClasses: [gpu.nvidia.com]}
    author: last
    alternatives: [{name: small, deviceClassName: small.example.com, count: 1}]
---
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: strict}
spec: {mode: enforce, requests: all, match: {tiers: [prod]}}
"""


def test_text_of_all_tiers_and_models(run: Any) -> None:
    found = run("tiers", "--policies", "policies", "--fleet", "fleet")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == (
        "tier dev\n"
        "  fallbacks are added to claims that pods get from a template, claims that people create, templates"
        "  (dev-gpus, mode enforce)\n"
        "    whoever asks for class gpu.nvidia.com gets, in this order:\n"
        "      1. what was asked for\n"
        "      2. a100-pair: 2x class a100.example.com\n"
        "  every list of fallbacks needs a declaration of the shapes that the program runs on:\n"
        "    fallgate.dev/compatible-shapes, on the pod, the claim, its template or the namespace"
        " (declared-fallbacks, mode enforce)\n"
        "MODEL      ALSO  DRIVER          CLASS  DEVICES\n"
        "h100-80gb  -     gpu.nvidia.com  -      2\n"
        "a100-40gb  -     gpu.nvidia.com  -      4\n"
    )


def test_without_a_fleet_there_are_no_numbers(run: Any) -> None:
    lines = run("tiers", "--policies", "policies").stdout.splitlines()
    assert lines[-3:] == [
        "MODEL      ALSO  DRIVER          CLASS",
        "h100-80gb  -     gpu.nvidia.com  -",
        "a100-40gb  -     gpu.nvidia.com  -",
    ]


def test_json_is_one_tier_a_line(run: Any) -> None:
    (found,) = [json.loads(line) for line in run("tiers", "dev", "--policies", "policies", "-o", "json").stdout.splitlines()]
    assert found == {
        "tier": "dev",
        "default": False,
        "lists": [
            {
                "policy": "dev-gpus",
                "mode": "enforce",
                "targets": ["claims", "generatedClaims", "templates"],
                "asks": [
                    {
                        "shapes": [],
                        "deviceClasses": ["gpu.nvidia.com"],
                        "author": "first",
                        "alternatives": [
                            {
                                "name": "a100-pair",
                                "model": "",
                                "deviceClassName": "a100.example.com",
                                "words": "2x class a100.example.com",
                            }
                        ],
                    }
                ],
            }
        ],
        "declarations": [{"policy": "declared-fallbacks", "mode": "enforce", "requests": "lists"}],
    }


def test_an_unknown_tier_is_bad_usage(run: Any) -> None:
    found = run("tiers", "prod", "--policies", "policies")
    assert (found.exit_code, found.stderr) == (2, "error: no policy names the tier prod; there are: dev\n")


def test_namespaces_without_a_tier_restrictions_and_defaults_are_told(run: Any, folder: Path) -> None:
    (folder / "more.yaml").write_text(MORE)
    found = run("tiers", "--policies", "more.yaml")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == (
        "tier base (also of namespaces without the label fallgate.dev/tier)\n"
        "  a warning says what would be added to claims that people create  (base-list, mode warn)\n"
        "  only for not in namespaces ops-*\n"
        "    whoever asks for class gpu.nvidia.com gets, in this order:\n"
        "      1. small: 1x class small.example.com\n"
        "      2. what was asked for\n"
        "tier prod\n"
        "  no fallbacks are added here\n"
        "  every request that several models satisfy needs a declaration of the shapes that the program runs on:\n"
        "    fallgate.dev/compatible-shapes, on the pod, the claim, its template or the namespace (strict, mode enforce)\n"
    )


def test_policies_without_tiers_say_so(run: Any, folder: Path) -> None:
    policy = "apiVersion: fallgate.dev/v1alpha1\nkind: Checks\nmetadata: {name: c}\nspec: {mode: enforce}\n"
    (folder / "checks.yaml").write_text(policy)
    found = run("tiers", "--policies", "checks.yaml")
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == "note: no policy names a tier: no fallbacks are added anywhere\n"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": "a100-40gb"}, "as many a100-40gb"),
        ({"model": "a100-40gb", "count_factor": Fraction(1)}, "as many a100-40gb"),
        ({"model": "a100-40gb", "count_factor": Fraction(2)}, "twice as many a100-40gb"),
        ({"model": "t4", "count_factor": Fraction(8)}, "8 times as many t4"),
        ({"model": "t4", "count_factor": Fraction(3, 2)}, "1.5 times as many t4"),
        ({"device_class": "gpu", "count": 3}, "3x class gpu"),
        ({"device_class": "gpu", "allocation_mode": "All"}, "all devices of class gpu"),
        ({"device_class": "gpu", "count": 1, "selectors": ("true",)}, "1x class gpu with selectors of its own"),
    ],
)
def test_words_for_an_alternative(fields: dict[str, Any], words: str) -> None:
    assert alternative_words(TierAlternative(name="x", **fields)) == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "whoever asks for any device gets, in this order:"),
        ({"shapes": ("h100", "2x a100-*")}, "whoever asks for h100 or 2x a100-* gets, in this order:"),
        ({"shapes": ("h100",), "device_classes": ("gpu",)}, "whoever asks for h100 of class gpu gets, in this order:"),
    ],
)
def test_words_for_an_ask(fields: dict[str, Any], words: str) -> None:
    assert ask_words(TierAsk(alternatives=(), **fields)) == words
