"""Frozen data: what Kubernetes sends and what Fallgate answers. Reads and prints; never decides."""
