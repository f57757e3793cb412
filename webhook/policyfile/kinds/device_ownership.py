"""DeviceOwnership: which names mean the same hardware, and who may hand it out on which nodes."""

from __future__ import annotations

from typing import Any, Literal

from webhook.policyfile.common_spec import MATCH, MODE, header, overridable
from webhook.policyfile.field_types import ListOf, OneOf
from webhook.policyfile.formats import DRIVER_NAME, RESOURCE_GLOB
from webhook.policyfile.kind import Kind
from webhook.policyfile.kubernetes_fields import LABEL_SELECTOR
from webhook.policyfile.record import Record, Values, needed, optional
from webhook.rulekit.policies import DeviceOwnership, NodeOwner, OwnerOfNodes

# A tenant that lowers this hurts its neighbours on the same nodes.
_OVERRIDABLE = overridable("raise")

_DRIVER = needed("driver", DRIVER_NAME, "The DRA driver.")
_RESOURCES = needed(
    "extendedResources",
    ListOf(RESOURCE_GLOB, minimum=1, unique=True),
    "The extended resources under which a device plugin hands out the same hardware, with `*`.",
)
_NODE_SELECTOR = needed("nodeSelector", LABEL_SELECTOR, "Labels of the nodes.")
_OWNER = needed(
    "owner",
    OneOf[NodeOwner](("dra", "device-plugin", "split"), (("plugin", 'did you mean "device-plugin"?'),)),
    "Who hands out their devices. `split`: each side has cards of its own, so that nothing conflicts.",
)
_OWNER_RECORD = Record(
    name="owner of nodes",
    doc="Who hands out the devices of some nodes.",
    keys=(_NODE_SELECTOR, _OWNER),
    build=lambda values: OwnerOfNodes(node_selector=values[_NODE_SELECTOR], owner=values[_OWNER]),
    elsewhere={"matchLabels": "write nodeSelector: {matchLabels: {...}}"},
)
_OWNERS = optional("owners", ListOf(_OWNER_RECORD), "Who owns which nodes. The first entry that a node matches counts.", ())
_DEFAULT = optional(
    "default",
    OneOf[Literal["undecided", "dra", "device-plugin"]](("undecided", "dra", "device-plugin")),
    "The owner of all other nodes. `undecided`: whoever asks conflicts with the other side where both have the node.",
    "undecided",
    shown="undecided",
)
_ACTION = optional(
    "action",
    OneOf[Literal["steer", "deny", "warn"]](("steer", "deny", "warn")),
    "`steer` keeps pods off conflicting nodes by node affinity, `deny` refuses them, `warn` only says so.",
    "steer",
    shown="steer",
)


def _build(values: Values) -> DeviceOwnership:
    return DeviceOwnership(
        header=header(values, overridable=_OVERRIDABLE),
        driver=values[_DRIVER],
        extended_resources=values[_RESOURCES],
        owners=values[_OWNERS],
        default=values[_DEFAULT],
        action=values[_ACTION],
    )


KIND: Kind[Any] = Kind(
    name="DeviceOwnership",
    doc="Which driver and which extended resources are the same hardware, who owns it on which nodes, and what to do.",
    spec=Record(
        name="DeviceOwnership spec",
        doc="The policy.",
        keys=(MODE, _OVERRIDABLE, MATCH, _DRIVER, _RESOURCES, _OWNERS, _DEFAULT, _ACTION),
        build=_build,
        elsewhere={"extendedResourceName": "write extendedResources: [...]", "owner": "write default: or owners: [...]"},
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {name: nvidia-gpus}
spec:
  mode: enforce
  driver: gpu.nvidia.com
  extendedResources: [nvidia.com/gpu, nvidia.com/mig-*, nvidia.com/gpu.shared]
  owners:
  - {nodeSelector: {matchLabels: {example.com/gpu-stack: dra}}, owner: dra}
  - {nodeSelector: {matchLabels: {example.com/gpu-stack: device-plugin}}, owner: device-plugin}
  - {nodeSelector: {matchLabels: {example.com/gpu-stack: split}}, owner: split}
  default: undecided
  action: steer
""",
)
