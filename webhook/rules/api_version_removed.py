"""An object written for an API version that this server does not have any more.

Reads:    apiVersion
Allows:   every version of resource.k8s.io that the server's release serves or can serve
Because:  the server answers "no matches for kind" without asking any webhook: only a review of the manifest can say what
          replaced it (API lifecycle tags of k8s.io/api resource: v1alpha2 gone since 1.31, v1alpha3 since 1.34, v1beta1 since
          1.38, v1beta2 since 1.39)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.device import DeviceClass
from webhook.model.finding import Finding
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "api-version-removed"

#: Version -> the minor release from which its claims, templates and classes are gone.
GONE_SINCE: Mapping[str, int] = {
    "resource.k8s.io/v1alpha1": 27,
    "resource.k8s.io/v1alpha2": 31,
    "resource.k8s.io/v1alpha3": 34,
    "resource.k8s.io/v1beta1": 38,
    "resource.k8s.io/v1beta2": 39,
}
_CLASSIC = frozenset({"resource.k8s.io/v1alpha1", "resource.k8s.io/v1alpha2"})


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """A finding when the object's version is gone from the server's release."""
    if not isinstance(view.subject, Claim | ClaimTemplate | DeviceClass):
        return
    version, server = view.subject.api_version, view.fleet.server
    gone = GONE_SINCE.get(version)
    if gone is None or server.minor < gone:
        return
    yield Finding(
        rule=RULE.id,
        reason=REASON,
        severity="deny",
        headline=f'{view.kind} "{view.meta.display_name}" is written for an API that is gone',
        path="apiVersion",
        detail=f"{version} is not served since Kubernetes 1.{gone} (this server: {server}): the object cannot be created",
        remedy=_remedy(version),
    )


def _remedy(version: str) -> str:
    if version in _CLASSIC:
        return (
            "write apiVersion: resource.k8s.io/v1; resourceClassName became requests[].exactly.deviceClassName, a driver's "
            "parameters became selectors and config[].opaque"
        )
    if version == "resource.k8s.io/v1beta2":
        return "write apiVersion: resource.k8s.io/v1; nothing else changes"
    return "write apiVersion: resource.k8s.io/v1 and put the fields of a request, except its name, under exactly:"


RULE = Rule(
    id="api-version-removed",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}),
    reads_fleet=False,
    reasons=(Reason(id=REASON, severity="deny", summary="an object in an API version that the server does not have any more"),),
    check=check,
)
