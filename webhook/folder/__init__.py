"""Kubernetes objects and policy files from disk: folders, manifests, watching. Reads; decides nothing."""
