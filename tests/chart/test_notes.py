"""What is printed after an install: what was switched on, and the one line that switches everything to audit."""

from __future__ import annotations

from tests.chart.helms import Helm
from tests.chart.regenerate import value_sets

VALUE_SETS = value_sets()
LOOKED_AT = (
    "Looked at   claims and templates, pods with devices, their controllers, labels of namespaces, device classes, "
    "device taint rules\n"
)
PANIC = """\
THE PANIC BUTTON: one line, in force within a second, without a rollout, and no GitOps tool takes it back:
  kubectl -n fallgate-system create configmap fallgate-cap --from-literal=mode=audit
It caps everything at audit. To end it:
  kubectl -n fallgate-system delete configmap fallgate-cap"""

NETWORK = """\
The NetworkPolicy lets anybody in on port 8443, and out to any address on 443, 6443, 8443, 16443: it does not know where the API
server is. Say so with networkPolicy.apiServer.cidrs: where it calls from, and the addresses of
  kubectl get endpointslices -l kubernetes.io/service-name=kubernetes
"""


def test_a_fresh_install(helm: Helm) -> None:
    assert helm.notes({}) == (
        "Fallgate 0.1.0 is installed as fallgate in fallgate-system.\n"
        "\n"
        "Mode        audit: everything is recorded, nothing is denied; changed are only forged or re-applied injections\n"
        "Policies    starter, nvidia, amd, intel, google-tpu\n"
        + LOOKED_AT
        + "Never       the namespaces fallgate-system, kube-system\n"
        "When down   everything passes\n"
        "Address     the Service fallgate\n"
        "Certificate Fallgate's own, kept in the Secret fallgate-certs\n"
        "Replicas    2\n"
        "\n"
        "Is it ready?\n"
        "  kubectl -n fallgate-system rollout status deployment/fallgate\n"
        "What does it find?\n"
        "  kubectl -n fallgate-system logs -l app.kubernetes.io/instance=fallgate --prefix -f\n"
        "\n" + NETWORK + "\n" + PANIC
    )


def test_production(any_helm: Helm) -> None:
    said = any_helm.notes(VALUE_SETS["production"])
    assert said.partition("\n\n")[2].partition("\n\n")[0] == (
        "Mode        enforce: policies and namespaces decide; a namespace chooses with the label fallgate.dev/mode\n"
        "Cap         warn for device-ownership until 2027-03-01\n"
        "Policies    nvidia, research.yaml, team-policies, exemptions\n"
        + LOOKED_AT
        + "Never       the namespaces fallgate-system, gpu-operator, kube-system, monitoring\n"
        "When down   claims and pods with devices are refused in namespaces whose label fallgate.dev/mode is not warn, "
        "audit or off; everything else passes\n"
        "Address     the Service fallgate\n"
        "Certificate Fallgate's own, kept in the Secret fallgate-certs\n"
        "Replicas    3"
    )
    assert said.endswith(f"\n\n{PANIC}")
    assert "NetworkPolicy" not in said  # it knows where the API server is


def test_outside(any_helm: Helm) -> None:
    said = any_helm.notes(VALUE_SETS["outside"])
    assert "Address     https://fallgate.example.com:8443/prefix/\n" in said
    assert "Certificate yours, from the Secret fallgate-certs\n" in said
    assert "\n  fallgate serve --cluster --namespace=fallgate-system " in said
    assert "rollout status" not in said


def test_without_a_panic_button(any_helm: Helm) -> None:
    assert "PANIC" not in any_helm.notes(VALUE_SETS["least"])
