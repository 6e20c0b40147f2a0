// clients are programs as others write them, on Kubernetes' own libraries, against the server of KUBECONFIG.
// Each prints a JSON object a line and ends when its standard input ends.
//
//	clients informer NAMESPACE json|protobuf   an informer of pods; a line on standard input asks how it compares
//	clients reconciler NAMESPACE IDENTITY    a controller with cache and leader election (reconciler.go)
//	clients everything                       watches every resource as Tables and as objects (everything.go)
//	clients encodings                        compares every list as JSON and as protobuf (encodings.go)
//	clients load NAMESPACE FIRST COUNT WORKERS [PER_SECOND]   creates pods
//	clients watches NAMESPACE COUNT CREATES PER_SECOND        that many watches, and the delay of their events
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch {
	case name == "informer" && len(args) == 3 && mediaTypes[args[2]] != "":
		return informer(withMediaType(config, mediaTypes[args[2]]), args[1])
	case name == "reconciler" && len(args) == 3:
		return reconciler(config, args[1], args[2])
	case name == "everything" && len(args) == 1:
		return everything(config)
	case name == "encodings" && len(args) == 1:
		return encodings(config)
	case name == "load" && len(args) >= 5:
		numbers, err := numbersOf(args[2:])
		if err != nil {
			return err
		}
		return load(config, args[1], append(numbers, 0))
	case name == "watches" && len(args) == 5:
		numbers, err := numbersOf(args[2:])
		if err != nil {
			return err
		}
		return watches(config, args[1], numbers)
	}
	return fmt.Errorf("see the comment at the top of main.go")
}

func numbersOf(texts []string) ([]int, error) {
	numbers := make([]int, len(texts))
	for i, text := range texts {
		var err error
		if numbers[i], err = strconv.Atoi(text); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

func tell(fields map[string]any) {
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

var mediaTypes = map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf}

// withMediaType sends this one and accepts no other.
func withMediaType(config *rest.Config, mediaType string) *rest.Config {
	changed := rest.CopyConfig(config)
	changed.ContentType = mediaType
	changed.AcceptContentTypes = mediaType
	return changed
}
