"""The command line, one file per command: reads files, asks the engine, prints. Decides nothing itself."""

from __future__ import annotations

from webhook.cli.app import main

__all__ = ["main"]
