package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const searchTimeMax = 5 * time.Second

type world struct {
	Off     []string
	Nodes   []*v1.Node
	Classes classes
	Slices  []*resourceapi.ResourceSlice
	Claims  []*resourceapi.ResourceClaim
	Wanted  []string
}

type verdict struct {
	Node, Verdict, Error string
	Allocations          []resourceapi.AllocationResult `json:",omitempty"`
}

type classes []*resourceapi.DeviceClass

func (all classes) List() ([]*resourceapi.DeviceClass, error) { return all, nil }
func (all classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range all {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

// Every node by itself: each verdict is that of a pod which comes first.
func allocate(question world) []verdict {
	off := sets.New(question.Off...)
	features := structured.Features{
		AdminAccess: true, CompatibilityGroups: !off.Has("DRADeviceCompatibilityGroups"), ConsumableCapacity: true,
		DerivedAttributes: true, DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true,
		ListTypeAttributes: true, OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true}
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	allocator, err := structured.NewAllocator(context.Background(), features, allocatedState(question.Claims),
		question.Classes, question.Slices, cache)
	var verdicts []verdict
	for _, node := range question.Nodes {
		if err != nil {
			verdicts = append(verdicts, verdict{Node: node.Name, Verdict: "error", Error: err.Error()})
			continue
		}
		verdicts = append(verdicts, judge(allocator, node, wanted(question)))
	}
	return verdicts
}

func judge(allocator structured.Allocator, node *v1.Node, claims []*resourceapi.ResourceClaim) verdict {
	ctx, cancel := context.WithTimeout(context.Background(), searchTimeMax)
	defer cancel()
	allocations, err := allocator.Allocate(ctx, node, claims)
	switch {
	case ctx.Err() != nil:
		return verdict{Node: node.Name, Verdict: "timeout"}
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return verdict{Node: node.Name, Verdict: "nodeError", Error: err.Error()}
	case err != nil:
		return verdict{Node: node.Name, Verdict: "error", Error: err.Error()}
	case allocations == nil:
		return verdict{Node: node.Name, Verdict: "infeasible"}
	}
	return verdict{Node: node.Name, Verdict: "feasible", Allocations: allocations}
}

func wanted(question world) []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for _, name := range question.Wanted {
		for _, claim := range question.Claims {
			if claim.Name == name {
				claims = append(claims, claim)
			}
		}
	}
	return claims
}

// As kube-scheduler counts: admin access takes nothing, a result with a share ID takes its share.
func allocatedState(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	return state
}
