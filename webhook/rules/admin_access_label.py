"""adminAccess in a namespace that is not open for it.

Reads:    spec.devices.requests[*].adminAccess, the namespace's labels
Allows:   adminAccess where the namespace has resource.kubernetes.io/admin-access: "true" (resource.k8s.io/ on 1.33)
Because:  the API server refuses it (kubernetes pkg/registry/resource: authorizedForAdmin), in every API version;
          from 1.34 on by the label's new name
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "admin-access-label"
LABEL, LABEL_1_33 = "resource.kubernetes.io/admin-access", "resource.k8s.io/admin-access"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per request with adminAccess in a namespace without the label."""
    spec = view.claim_spec
    if spec is None or not view.fleet.server.enabled("DRAAdminAccess"):
        return
    label = LABEL if view.fleet.server.minor >= 34 else LABEL_1_33
    value = view.namespace.labels.get(label)
    if value == "true":
        return
    for request in spec.requests:
        for alternative in request.alternatives:
            if alternative.admin_access:
                yield Finding(
                    rule=RULE.id,
                    reason=REASON,
                    severity="deny" if view.namespace.known or view.fleet.as_of is None else "warn",
                    headline=f'{view.kind} "{view.meta.display_name}" asks for administrator access to devices',
                    path=field_path(join(alternative.pointer, "adminAccess")),
                    detail=f'request "{request.name}" asks for adminAccess, but namespace {view.namespace_name} '
                    f"{f'has {label}: {value!r}' if value else f'does not have the label {label}'}",
                    remedy="remove adminAccess: true and ask for devices of your own; if this is a monitoring agent, "
                    f'have an administrator set the label {label}: "true" on the namespace',
                )


RULE = Rule(
    id="admin-access-label",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reads_fleet=False,
    reasons=(Reason(id=REASON, severity="deny", summary="adminAccess in a namespace that is not labelled for it"),),
    check=check,
)
