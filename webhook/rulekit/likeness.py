"""What makes two pods alike for rules: all that is read of a pod, except what only names it.

Thousands of pods differ in name alone. A rule that had nothing to say about one of them has nothing to say about the next on
the same fleet, under the same policies, in the same namespace; the engine need not ask it again (`Rule.alike_for_pods`).
"""

from __future__ import annotations

from collections.abc import Hashable

from webhook.model.meta import Meta
from webhook.model.pod import Container, Pod


def pod_likeness(pod: Pod) -> Hashable:
    """Equal for pods that differ in name, uid, timestamps and status only, and in containers that ask for no device."""
    return (
        pod.node_name,
        pod.scheduler_name,
        pod.scheduling_group,
        _meta(pod.meta),
        tuple(pod.node_selector.items()),
        None if pod.required_terms is None else repr(pod.required_terms),
        tuple([(item.key, item.operator, item.value, item.effect) for item in pod.tolerations]),
        tuple([(item.name, item.claim_name, item.template_name) for item in pod.claims]),
        tuple([_container(item) for item in pod.containers if item.claims or item.extended]),
    )


def _meta(meta: Meta) -> Hashable:
    owners = tuple([(item.api_version, item.kind, item.uid, item.controller) for item in meta.owners])
    return (tuple(meta.labels.items()), tuple(meta.annotations.items()), owners)


def _container(container: Container) -> Hashable:
    claims = tuple([(item.name, item.request) for item in container.claims])
    return (container.kind, claims, tuple(container.extended.items()))
