"""The Kubernetes API: the only code that talks to it. The cluster by lists and watches, single objects, the mode cap."""
