"""Fallgate: an admission webhook for Kubernetes Dynamic Resource Allocation."""
