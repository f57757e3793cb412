"""HTTP: the two admission calls, probes and metrics. Knows starlette and uvicorn; knows nothing of where facts come from."""

from __future__ import annotations
