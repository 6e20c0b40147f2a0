// A DRA driver written against Kubernetes' own module: what a vendor's driver does, with devices by name.
//
// Usage: driver KUBECONFIG NODE-FOLDER NODE NAME INSTANCE DEVICE... It publishes the devices of the node, prepares
// claims, and reports health, which lines on stdin change: "gpu-1 Unhealthy text". Two instances of one name may
// run at once, as in a rolling update. It prints a line for each call; at the end of stdin it stops, and removes
// its sockets.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const healthTimeout = 30 * time.Second

type driver struct {
	name, node string
	mutex      sync.Mutex
	devices    []kubeletplugin.DeviceHealth
	changed    chan struct{} // closed at the next change
}

func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		prepared := kubeletplugin.PrepareResult{}
		line := "prepare " + claim.Name
		for _, allocated := range claim.Status.Allocation.Devices.Results {
			if allocated.Driver != d.name {
				continue
			}
			line += " " + allocated.Device
			prepared.Devices = append(prepared.Devices, kubeletplugin.Device{
				Requests: []string{allocated.Request}, PoolName: allocated.Pool, DeviceName: allocated.Device,
				CDIDeviceIDs: []string{d.name + "/gpu=" + allocated.Device}})
		}
		results[claim.UID] = prepared
		fmt.Println(line)
	}
	return results, nil
}

func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		fmt.Println("unprepare", claim.Name)
		results[claim.UID] = nil
	}
	return results, nil
}

func (d *driver) HandleError(_ context.Context, err error, message string) {
	fmt.Fprintln(os.Stderr, message, err)
}

func (d *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	for {
		d.mutex.Lock()
		report := kubeletplugin.DeviceHealthReport{Devices: append([]kubeletplugin.DeviceHealth{}, d.devices...)}
		changed := d.changed
		d.mutex.Unlock()
		select {
		case reports <- report:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-changed:
		case <-time.After(healthTimeout / 3):
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *driver) set(name, health, message string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i := range d.devices {
		if d.devices[i].DeviceName == name {
			d.devices[i].Health = kubeletplugin.HealthStatus(health)
			d.devices[i].Message = message
		}
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *driver) resources() resourceslice.DriverResources {
	slice := resourceslice.Slice{}
	for _, device := range d.devices {
		slice.Devices = append(slice.Devices, resourceapi.Device{Name: device.DeviceName})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		d.node: {Slices: []resourceslice.Slice{slice}}}}
}

func fail(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func main() {
	kubeconfig, folder, node, name, instance := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	d := &driver{name: name, node: node, changed: make(chan struct{})}
	for _, device := range os.Args[6:] {
		d.devices = append(d.devices, kubeletplugin.DeviceHealth{PoolName: node, DeviceName: device,
			Health: kubeletplugin.HealthStatusHealthy, HealthCheckTimeout: healthTimeout})
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	fail(err)
	client, err := kubernetes.NewForConfig(config)
	fail(err)
	data := filepath.Join(folder, "plugins", name)
	fail(os.MkdirAll(data, 0o700))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	helper, err := kubeletplugin.Start(ctx, d, kubeletplugin.DriverName(name), kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client), kubeletplugin.RollingUpdate(types.UID(instance)),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(folder, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data))
	fail(err)
	for status := helper.RegistrationStatus(); status == nil; status = helper.RegistrationStatus() {
		time.Sleep(20 * time.Millisecond)
	}
	if status := helper.RegistrationStatus(); !status.PluginRegistered {
		fail(fmt.Errorf("not registered: %s", status.Error))
	}
	fail(helper.PublishResources(ctx, d.resources()))
	fmt.Println("registered")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		words := strings.SplitN(input.Text(), " ", 3)
		d.set(words[0], words[1], strings.Join(words[2:], ""))
	}
	helper.Stop()
}
