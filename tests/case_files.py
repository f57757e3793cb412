"""The problem cases in tests/cases: reading them, and saying them in another API version."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parent / "cases"

_CLUSTER_SCOPED = {"Node", "Namespace", "DeviceClass", "ResourceSlice", "DeviceTaintRule"}
_ASK = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is sent, in which cluster, under which policies, and what must come out."""

    id: str
    body: dict[str, Any]

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The objects sent, in order."""
        return list(self.body["input"])

    @property
    def namespace(self) -> str:
        """The namespace of the input."""
        first = self.inputs[0].get("metadata", {})
        return str(first.get("namespace", ""))

    @property
    def cluster(self) -> list[dict[str, Any]]:
        """What is there: the manifests and further objects."""
        cluster = self.body.get("cluster", {})
        found: list[dict[str, Any]] = []
        for name in cluster.get("manifests", []):
            found += [item for item in yaml.safe_load_all((CASES / name).read_text()) if item]
        found += cluster.get("objects", [])
        return [self._placed(item) for item in copy.deepcopy(found)]

    def _placed(self, item: dict[str, Any]) -> dict[str, Any]:
        if item["kind"] not in _CLUSTER_SCOPED:
            item["metadata"].setdefault("namespace", self.namespace)
        return item

    @property
    def policy_files(self) -> list[tuple[str, bytes]]:
        """The policy files that the case's switches name."""
        switches = self.body.get("policy", {})
        always = (CASES / "policies/always.yaml").read_text()
        if switches.get("zeroMatch") == "note":
            always = always.replace("rules: {zero-match: warn}", "rules: {zero-match: note}")
        files = [("always.yaml", always.encode())]
        chosen = {"shapes": "shapes-enforce", "doubleBooking": "doubleBooking-enforce", "inject": "inject-tier"}
        for switch, name in chosen.items():
            if switches.get(switch, "off") != "off":
                files.append((f"{name}.yaml", (CASES / f"policies/{name}.yaml").read_bytes()))
        if "exemptions" in switches:
            document = {
                "apiVersion": "fallgate.dev/v1alpha1",
                "kind": "Exemptions",
                "metadata": {"name": "case"},
                "spec": {"exemptions": switches["exemptions"]},
            }
            files.append(("exemptions.yaml", yaml.safe_dump(document).encode()))
        return files


def cases() -> list[Case]:
    """All cases, by id."""
    return [Case(path.name.split("-")[0], yaml.safe_load(path.read_text())) for path in sorted(CASES.glob("*.yaml"))]


def in_version(body: dict[str, Any], version: str) -> dict[str, Any]:
    """A claim or template as another version of resource.k8s.io writes it; other objects as they are."""
    if not str(body.get("apiVersion", "")).startswith("resource.k8s.io/"):
        return body
    said = copy.deepcopy(body)
    was, said["apiVersion"] = body["apiVersion"].rpartition("/")[2], f"resource.k8s.io/{version}"
    spec = said.get("spec", {})
    spec = spec.get("spec", spec) if said["kind"] == "ResourceClaimTemplate" else spec
    flat = {"v1beta1", "v1alpha3"}
    for request in spec.get("devices", {}).get("requests") or []:
        if version in flat and was not in flat:
            request.update(request.pop("exactly", {}))
            request.setdefault("deviceClassName", "")
        elif version not in flat and was in flat:
            ask = {key: request.pop(key) for key in _ASK if key in request}
            if ask.get("deviceClassName"):
                request["exactly"] = ask
    return said


def defaulted(body: dict[str, Any]) -> dict[str, Any]:
    """A claim or template with the API's defaults, without Fallgate's own annotations."""
    said = copy.deepcopy(body)
    meta = said.get("metadata", {})
    kept = {key: value for key, value in meta.get("annotations", {}).items() if not key.startswith("fallgate.dev/")}
    meta.pop("annotations", None)
    if kept:
        meta["annotations"] = kept
    spec = said.get("spec", {})
    spec = spec.get("spec", spec)
    for request in spec.get("devices", {}).get("requests", []) if "devices" in spec else []:
        for ask in (request, request.get("exactly"), *request.get("firstAvailable", [])):
            if ask and ask.get("deviceClassName"):
                ask.setdefault("allocationMode", "ExactCount")
                if ask["allocationMode"] == "ExactCount":
                    ask.setdefault("count", 1)
        if request.get("deviceClassName") == "":
            del request["deviceClassName"]
    return said
