package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Longer than the scheduler waits for a node (DRASchedulerFilterTimeout).
const timeout = 20 * time.Second

// allocateCall asks what the scheduler would allocate on each of the nodes, every node by itself. Nodes are Node objects or
// names. Node limits the question to one of them.
type allocateCall struct {
	Node      string                       `json:"node"`
	Nodes     []nodeOrName                 `json:"nodes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []allocatedDevice            `json:"allocated"`
	Features  *structured.Features         `json:"features"`
}

type nodeOrName struct{ corev1.Node }

func (n *nodeOrName) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		return json.Unmarshal(data, &n.Name)
	}
	return json.Unmarshal(data, &n.Node)
}

type allocatedDevice struct {
	Driver           string                                          `json:"driver"`
	Pool             string                                          `json:"pool"`
	Device           string                                          `json:"device"`
	ShareID          *types.UID                                      `json:"shareID"`
	ConsumedCapacity map[resourceapi.QualifiedName]resource.Quantity `json:"consumedCapacity"`
}

type allocateAnswer struct {
	ID    any          `json:"id"`
	Bad   string       `json:"bad,omitempty"`
	Nodes []nodeAnswer `json:"nodes"`
}

// nodeAnswer has an error, or says that the claims do not fit, or has results. CEL says that the error is one of CEL.
type nodeAnswer struct {
	Node          string   `json:"node"`
	Error         string   `json:"error,omitempty"`
	CEL           bool     `json:"cel,omitempty"`
	Unsatisfiable bool     `json:"unsatisfiable,omitempty"`
	Results       []result `json:"results,omitempty"`
}

type result struct {
	Claim       string `json:"claim"`
	Request     string `json:"request"`
	Driver      string `json:"driver"`
	Pool        string `json:"pool"`
	Device      string `json:"device"`
	AdminAccess bool   `json:"adminAccess,omitempty"`
}

// Feature gates as kube-scheduler 1.37 has them by default.
var defaultFeatures = structured.Features{
	AdminAccess:             true,
	ConsumableCapacity:      true,
	DeviceBindingAndStatus:  true,
	DeviceTaints:            true,
	FractionalCapacityRange: true,
	PartitionableDevices:    true,
	PrioritizedList:         true,
}

var celCaches = map[cel.Features]*cel.Cache{}

func celCache(features structured.Features) *cel.Cache {
	key := cel.Features{EnableConsumableCapacity: features.ConsumableCapacity, EnableListTypeAttributes: features.ListTypeAttributes}
	if celCaches[key] == nil {
		celCaches[key] = cel.NewCache(1000, key)
	}
	return celCaches[key]
}

func allocate(id any, call *allocateCall) allocateAnswer {
	answer := allocateAnswer{ID: id, Nodes: []nodeAnswer{}}
	features := defaultFeatures
	if call.Features != nil {
		features = *call.Features
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	classes := classes(call.Classes)
	allocator, err := structured.NewAllocator(ctx, features, allocatedState(call.Allocated), classes, call.Slices, celCache(features))
	if err != nil {
		answer.Bad = err.Error()
		return answer
	}
	if call.Node != "" && len(call.Nodes) == 0 {
		call.Nodes = []nodeOrName{{corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: call.Node}}}}
	}
	for i := range call.Nodes {
		node := &call.Nodes[i].Node
		if call.Node == "" || call.Node == node.Name {
			answer.Nodes = append(answer.Nodes, onNode(ctx, allocator, node, call.Claims))
		}
	}
	return answer
}

func onNode(ctx context.Context, allocator structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim) nodeAnswer {
	answer := nodeAnswer{Node: node.Name}
	allocations, err := allocator.Allocate(ctx, node, claims)
	switch {
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		answer.Unsatisfiable = true
	case err != nil:
		answer.Error = err.Error()
		answer.CEL = strings.Contains(answer.Error, "CEL runtime error: ") || strings.Contains(answer.Error, "CEL compile error: ")
	case len(allocations) != len(claims):
		answer.Unsatisfiable = true
	}
	for i, allocation := range allocations {
		for _, given := range allocation.Devices.Results {
			answer.Results = append(answer.Results, result{
				Claim:       claims[i].Name,
				Request:     given.Request,
				Driver:      given.Driver,
				Pool:        given.Pool,
				Device:      given.Device,
				AdminAccess: given.AdminAccess != nil && *given.AdminAccess,
			})
		}
	}
	return answer
}

func allocatedState(allocated []allocatedDevice) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, device := range allocated {
		id := structured.MakeDeviceID(device.Driver, device.Pool, device.Device)
		if device.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, device.ShareID))
		if len(device.ConsumedCapacity) > 0 {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, device.ConsumedCapacity))
		}
	}
	return state
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("device class %s not found", name)
}
