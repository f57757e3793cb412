"""Formats of what the commands print: JSON lines, YAML, JUnit, SARIF, readable differences. Pure: values in, text out."""
