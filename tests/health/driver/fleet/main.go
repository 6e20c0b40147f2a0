// The DRA drivers of many nodes in one program, for load: each node's driver registers in the node's folder, and
// reports eight devices at a period and whenever one of them changes.
//
// Usage: fleet NODES-FOLDER DRIVER DEVICES NODE... Lines on stdin: "flap SECONDS PER-SECOND" changes that many
// devices, chosen at random, in each second, and prints "flapped N" at the end; "state" prints one line,
// "NODE=HUHHHHHH ..." (H is Healthy, U Unhealthy). It ends with stdin.
package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	period  = 10 * time.Second
	timeout = 30
)

type nodeDriver struct {
	health.UnimplementedDRAResourceHealthServer
	registration.UnimplementedRegistrationServer
	name, node string
	mutex      sync.Mutex
	sick       []bool
	changed    chan struct{} // closed at the next change
}

func (d *nodeDriver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: "DRAPlugin", Name: d.name,
		SupportedVersions: []string{"v1.DRAPlugin", "v1.DRAResourceHealth"}}, nil
}

func (d *nodeDriver) NotifyRegistrationStatus(context.Context, *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	return &registration.RegistrationStatusResponse{}, nil
}

func (d *nodeDriver) NodeWatchResources(_ *health.NodeWatchResourcesRequest, stream health.DRAResourceHealth_NodeWatchResourcesServer) error {
	for {
		d.mutex.Lock()
		message := &health.NodeWatchResourcesResponse{}
		for n, sick := range d.sick {
			state, text := health.HealthStatus_HEALTHY, ""
			if sick {
				state, text = health.HealthStatus_UNHEALTHY, "xid 79"
			}
			message.Devices = append(message.Devices, &health.DeviceHealth{
				Device: &health.DeviceIdentifier{PoolName: d.node, DeviceName: "gpu-" + strconv.Itoa(n)},
				Health: state, Message: text, HealthCheckTimeoutSeconds: timeout})
		}
		changed := d.changed
		d.mutex.Unlock()
		if err := stream.Send(message); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(period):
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (d *nodeDriver) flip(device int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.sick[device] = !d.sick[device]
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *nodeDriver) state() string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	text := d.node + "="
	for _, sick := range d.sick {
		text += map[bool]string{false: "H", true: "U"}[sick]
	}
	return text
}

func serve(folder string, driver *nodeDriver) error {
	registry := filepath.Join(folder, driver.node, "plugins_registry")
	if err := os.MkdirAll(registry, 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("unix", filepath.Join(registry, "fleet.sock"))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, driver)
	health.RegisterDRAResourceHealthServer(server, driver)
	go server.Serve(listener)
	return nil
}

func flap(drivers []*nodeDriver, devices, seconds, each int) {
	random := rand.New(rand.NewSource(1))
	for n := 0; n < seconds*each; n++ {
		drivers[random.Intn(len(drivers))].flip(random.Intn(devices))
		time.Sleep(time.Second / time.Duration(each))
	}
	fmt.Println("flapped", seconds*each)
}

func main() {
	folder, name := os.Args[1], os.Args[2]
	devices, _ := strconv.Atoi(os.Args[3])
	drivers := []*nodeDriver{}
	for _, node := range os.Args[4:] {
		driver := &nodeDriver{name: name, node: node, sick: make([]bool, devices), changed: make(chan struct{})}
		if err := serve(folder, driver); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		drivers = append(drivers, driver)
	}
	fmt.Println("serving", len(drivers))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == "flap" {
			seconds, _ := strconv.Atoi(words[1])
			each, _ := strconv.Atoi(words[2])
			flap(drivers, devices, seconds, each)
			continue
		}
		states := []string{}
		for _, driver := range drivers {
			states = append(states, driver.state())
		}
		fmt.Println(strings.Join(states, " "))
	}
}
