"""All rules, one file each. `ALL` is written by hand and sorted by id; adding a rule adds one line (docs/adding-a-rule.md)."""

from __future__ import annotations

from webhook.rulekit.rule import Rule

ALL: tuple[Rule, ...] = ()
