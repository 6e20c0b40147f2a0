package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	triesOfChanging = 20 // what controllers write between the two lists
	betweenTries    = 50 * time.Millisecond
)

// encodings lists what client-go has types for as JSON and as protobuf and compares what it reads of both.
func encodings(config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	objects, differing := map[string]int{}, []string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !scheme.Scheme.Recognizes(version.WithKind(resource.Kind)) {
				continue
			}
			path := "/apis/" + list.GroupVersion + "/" + resource.Name
			if version.Group == "" {
				path = "/api/" + list.GroupVersion + "/" + resource.Name
			}
			count, err := listedAlike(client.RESTClient(), path)
			if err != nil {
				differing = append(differing, path+": "+err.Error())
			}
			objects[strings.Join([]string{resource.Name, version.Group, version.Version}, ".")] = count
		}
	}
	tell(map[string]any{"objects": objects, "differing": differing})
	return nil
}

// listedAlike counts the objects of a list whose bytes, written by Go, are the same whichever it was read of.
func listedAlike(client rest.Interface, path string) (int, error) {
	var failure error
	for range triesOfChanging {
		one, err := written(client, path, runtime.ContentTypeJSON)
		if err != nil {
			return 0, err
		}
		other, err := written(client, path, runtime.ContentTypeProtobuf)
		if err != nil {
			return 0, err
		}
		if failure = firstDifference(one, other); failure == nil {
			return len(one), nil
		}
		time.Sleep(betweenTries)
	}
	return 0, failure
}

// written lists in a media type; the items come as Go writes them in protobuf.
func written(client rest.Interface, path, mediaType string) ([][]byte, error) {
	body, err := client.Get().AbsPath(path).SetHeader("Accept", mediaType).DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(body, []byte("k8s\x00")) != (mediaType == runtime.ContentTypeProtobuf) {
		return nil, fmt.Errorf("not %s: %.40q", mediaType, body)
	}
	list, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), body)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(items))
	for i, item := range items {
		if all[i], err = item.(interface{ Marshal() ([]byte, error) }).Marshal(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func firstDifference(one, other [][]byte) error {
	if len(one) != len(other) {
		return fmt.Errorf("%d objects and %d", len(one), len(other))
	}
	for i := range one {
		if !bytes.Equal(one[i], other[i]) {
			return fmt.Errorf("object %d: %q and %q", i, one[i], other[i])
		}
	}
	return nil
}
