// A device plugin written against Kubernetes' own module: what a vendor's plugin does, with devices by name.
//
// Usage: plugin FOLDER RESOURCE DEVICE... It registers at FOLDER/kubelet.sock, answers Allocate, and changes the
// health of devices by lines on stdin: "gpu-1 Unhealthy". It lists the node's pods by "pods", from the pod
// resources socket beside the folder.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	mutex   sync.Mutex
	devices []*api.Device
	changed chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) list() *api.ListAndWatchResponse {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	response := &api.ListAndWatchResponse{}
	for _, device := range p.devices {
		response.Devices = append(response.Devices, &api.Device{
			ID: device.ID, Health: device.Health,
			Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 1}}}})
	}
	return response
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	for {
		if err := stream.Send(p.list()); err != nil {
			return err
		}
		select {
		case <-p.changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		fmt.Println("allocate", strings.Join(container.DevicesIds, ","))
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")}})
	}
	return response, nil
}

func (p *plugin) set(id, health string) {
	p.mutex.Lock()
	for _, device := range p.devices {
		if device.ID == id {
			device.Health = health
		}
	}
	p.mutex.Unlock()
	p.changed <- struct{}{}
}

func dial(socket string) *grpc.ClientConn {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail(err)
	return connection
}

func fail(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func printPods(folder string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	connection := dial(filepath.Join(filepath.Dir(folder), "pod-resources", "kubelet.sock"))
	defer connection.Close()
	answer, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	fail(err)
	line := "pods"
	for _, pod := range answer.PodResources {
		for _, container := range pod.Containers {
			for _, devices := range container.Devices {
				line += fmt.Sprintf(" %s/%s/%s:%s=%s@%d", pod.Namespace, pod.Name, container.Name, devices.ResourceName,
					strings.Join(devices.DeviceIds, ","), devices.Topology.Nodes[0].ID)
			}
		}
	}
	fmt.Println(line)
}

func main() {
	folder, resource := os.Args[1], os.Args[2]
	served := &plugin{changed: make(chan struct{}, 16)}
	for _, id := range os.Args[3:] {
		served.devices = append(served.devices, &api.Device{ID: id, Health: api.Healthy})
	}
	const endpoint = "go-plugin.sock"
	listener, err := net.Listen("unix", filepath.Join(folder, endpoint))
	fail(err)
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, served)
	go server.Serve(listener)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	connection := dial(filepath.Join(folder, "kubelet.sock"))
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource})
	fail(err)
	fmt.Println("registered")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if words := strings.Fields(input.Text()); len(words) == 2 {
			served.set(words[0], words[1])
		} else {
			printPods(folder)
		}
	}
}
