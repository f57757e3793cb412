"""The names by which a server is called."""

from __future__ import annotations


def called_as(service: str, namespace: str) -> str:
    """The name that the API server looks for in the certificate of a Service's server."""
    return f"{service}.{namespace}.svc"


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """All names that a Service has in its cluster, that of the API server first."""
    return (called_as(service, namespace), f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}", service)
