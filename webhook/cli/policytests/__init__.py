"""Tests of policies: the format of tests.yaml (docs/testing-policies.md) and what comes of running them."""
