package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"time"
)

type world struct {
	Off     []string
	Nodes   []*v1.Node
	Classes []*resourceapi.DeviceClass
	Slices  []*resourceapi.ResourceSlice
	Claims  []*resourceapi.ResourceClaim
	Wanted  []string
}
type lister struct{ c []*resourceapi.DeviceClass }

func (l lister) List() ([]*resourceapi.DeviceClass, error) { return l.c, nil }
func (l lister) Get(n string) (*resourceapi.DeviceClass, error) {
	for _, c := range l.c {
		if c.Name == n {
			return c, nil
		}
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", n)
}

type verdict struct {
	Node, Verdict, Error string
	Allocations []resourceapi.AllocationResult `json:",omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var w world
		if err := json.Unmarshal(in.Bytes(), &w); err != nil {
			panic(err)
		}
		off := sets.New(w.Off...)
		f := structured.Features{AdminAccess: true, CompatibilityGroups: !off.Has("DRADeviceCompatibilityGroups"), ConsumableCapacity: !off.Has("DRAConsumableCapacity"),
			DerivedAttributes: !off.Has("DRADerivedAttributes"), DeviceBindingAndStatus: !off.Has("DRADeviceBindingConditions"), DeviceTaints: true,
			FractionalCapacityRange: !off.Has("DRAFractionalCapacityRange"), ListTypeAttributes: !off.Has("DRAListTypeAttributes"), OptionalNodeOperations: true,
			PartitionableDevices: !off.Has("DRAPartitionableDevices"), PrioritizedList: true}
		state := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
		byName := map[string]*resourceapi.ResourceClaim{}
		for _, c := range w.Claims {
			byName[c.Name] = c
			if c.Status.Allocation == nil {
				continue
			}
			for _, r := range c.Status.Allocation.Devices.Results {
				if r.AdminAccess != nil && *r.AdminAccess {
					continue
				}
				id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
				if f.ConsumableCapacity && r.ShareID != nil {
					state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
					if r.ConsumedCapacity != nil {
						state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
					}
					continue
				}
				state.AllocatedDevices.Insert(id)
			}
		}
		var want []*resourceapi.ResourceClaim
		for _, n := range w.Wanted {
			want = append(want, byName[n])
		}
		var vs []verdict
		cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: f.ConsumableCapacity, EnableListTypeAttributes: f.ListTypeAttributes})
		a, err := structured.NewAllocator(context.Background(), f, state, lister{w.Classes}, w.Slices, cache)
		for _, n := range w.Nodes {
			v := verdict{Node: n.Name}
			if err != nil {
				v.Verdict, v.Error = "error", err.Error()
			} else {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				res, aerr := a.Allocate(ctx, n, want)
				switch {
				case ctx.Err() != nil:
					v.Verdict = "timeout"
				case aerr != nil && errors.Is(aerr, structured.ErrFailedAllocationOnNode):
					v.Verdict, v.Error = "nodeError", aerr.Error()
				case aerr != nil:
					v.Verdict, v.Error = "error", aerr.Error()
				case res == nil:
					v.Verdict = "infeasible"
				default:
					v.Verdict, v.Allocations = "feasible", res
				}
				cancel()
			}
			vs = append(vs, v)
		}
		b, _ := json.Marshal(vs)
		out.Write(b)
		out.WriteByte('\n')
		out.Flush()
	}
}
