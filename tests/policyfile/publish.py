"""Writes what is published of the policy format: the JSON Schema and the reference.

python tests/policyfile/publish.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def published() -> Mapping[Path, str]:
    """File -> what belongs into it."""
    from webhook.policyfile import json_schema, policy_reference

    return {
        ROOT / "policies/schema/fallgate-policies.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        ROOT / "docs/policy-reference.md": policy_reference(),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in published().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
