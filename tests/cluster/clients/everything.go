package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	asTable          = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	discoverySeconds = 1
)

// seen counts what was heard of, by resource: rows of Tables, objects, and objects with metadata alone.
type seen struct {
	lock    sync.Mutex
	rows    map[string]map[string]bool
	objects map[string]map[string]bool
	partial map[string]map[string]bool
	faults  []string
}

func (s *seen) note(where map[string]map[string]bool, resource string, name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if where[resource] == nil {
		where[resource] = map[string]bool{}
	}
	where[resource][name] = true
}

func (s *seen) fault(resource string, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.faults = append(s.faults, resource+": "+err.Error())
}

func namesOf(where map[string]map[string]bool) map[string][]string {
	names := map[string][]string{}
	for resource, heard := range where {
		for name := range heard {
			names[resource] = append(names[resource], name)
		}
		slices.Sort(names[resource])
	}
	return names
}

type watcher struct {
	config *rest.Config
	seen   *seen
	full   dynamicinformer.DynamicSharedInformerFactory
	slim   metadatainformer.SharedInformerFactory
	stop   chan struct{}
	known  map[schema.GroupVersionResource]bool
}

// discover starts to watch what is new; definitions bring resources while this runs.
func (w *watcher) discover(client discovery.DiscoveryInterface) error {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return err
	}
	both := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(both, lists))
	if err != nil {
		return err
	}
	for resource := range found {
		if !w.known[resource] {
			w.known[resource] = true
			w.watch(resource)
		}
	}
	w.full.Start(w.stop)
	w.slim.Start(w.stop)
	return nil
}

func nameOf(object any) string {
	if last, isLast := object.(cache.DeletedFinalStateUnknown); isLast {
		object = last.Obj
	}
	return object.(metav1.Object).GetName()
}

func (w *watcher) watch(resource schema.GroupVersionResource) {
	key := resource.GroupResource().String()
	full, slim := w.full.ForResource(resource).Informer(), w.slim.ForResource(resource).Informer()
	_, first := full.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.seen.note(w.seen.objects, key, nameOf(object)) },
		DeleteFunc: func(object any) { w.seen.note(w.seen.objects, key, "-"+nameOf(object)) }})
	_, second := slim.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.seen.note(w.seen.partial, key, nameOf(object)) },
		DeleteFunc: func(object any) { w.seen.note(w.seen.partial, key, "-"+nameOf(object)) }})
	if err := errors.Join(first, second); err != nil {
		w.seen.fault(key, err)
	}
	go func() {
		if err := w.tables(resource); err != nil {
			w.seen.fault(key, err)
		}
	}()
}

func pathOf(resource schema.GroupVersionResource) string {
	if resource.Group == "" {
		return "/api/" + resource.Version + "/" + resource.Resource
	}
	return "/apis/" + resource.Group + "/" + resource.Version + "/" + resource.Resource
}

type tableEvent struct {
	Type   string
	Object metav1.Table
}

// rowsOf are the names of a Table's objects; every row has as many cells as there are columns.
func rowsOf(table *metav1.Table, columns int) ([]string, error) {
	names := []string{}
	for _, row := range table.Rows {
		if len(row.Cells) != columns {
			return nil, fmt.Errorf("a row of %d cells for %d columns", len(row.Cells), columns)
		}
		about := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(row.Object.Raw, &about); err != nil {
			return nil, err
		}
		names = append(names, about.Name)
	}
	return names, nil
}

// tables lists as kubectl and k9s do, then watches from that version.
func (w *watcher) tables(resource schema.GroupVersionResource) error {
	config := rest.CopyConfig(w.config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return err
	}
	key := resource.GroupResource().String()
	text, err := client.Get().AbsPath(pathOf(resource)).SetHeader("Accept", asTable).DoRaw(context.Background())
	if err != nil {
		return err
	}
	list := metav1.Table{}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if list.Kind != "Table" || len(list.ColumnDefinitions) == 0 {
		return fmt.Errorf("a list of kind %q with %d columns", list.Kind, len(list.ColumnDefinitions))
	}
	if err := w.noteRows(key, &list, len(list.ColumnDefinitions), ""); err != nil {
		return err
	}
	stream, err := client.Get().AbsPath(pathOf(resource)).SetHeader("Accept", asTable).Param("watch", "true").
		Param("resourceVersion", list.ResourceVersion).Stream(context.Background())
	if err != nil {
		return err
	}
	defer stream.Close()
	return w.tableEvents(key, stream, len(list.ColumnDefinitions))
}

func (w *watcher) noteRows(key string, table *metav1.Table, columns int, prefix string) error {
	names, err := rowsOf(table, columns)
	for _, name := range names {
		w.seen.note(w.seen.rows, key, prefix+name)
	}
	return err
}

func (w *watcher) tableEvents(key string, stream io.Reader, columns int) error {
	for decoder := json.NewDecoder(stream); ; {
		event := tableEvent{}
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		prefix := ""
		if event.Type == "DELETED" {
			prefix = "-"
		}
		if err := w.noteRows(key, &event.Object, columns, prefix); err != nil {
			return err
		}
	}
}

// everything answers each line of standard input with all that was heard so far.
func everything(config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	full, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	slim, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	heard := &seen{rows: map[string]map[string]bool{}, objects: map[string]map[string]bool{},
		partial: map[string]map[string]bool{}}
	w := &watcher{config: config, seen: heard, stop: make(chan struct{}), known: map[schema.GroupVersionResource]bool{},
		full: dynamicinformer.NewDynamicSharedInformerFactory(full, 0),
		slim: metadatainformer.NewSharedInformerFactory(slim, 0)}
	if err := w.discover(client); err != nil {
		return err
	}
	w.full.WaitForCacheSync(w.stop)
	w.slim.WaitForCacheSync(w.stop)
	tell(map[string]any{"resources": len(w.known)})
	lines := make(chan bool)
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			lines <- true
		}
		close(lines)
	}()
	return w.answer(client, lines)
}

func (w *watcher) answer(client discovery.DiscoveryInterface, lines <-chan bool) error {
	for {
		select {
		case _, more := <-lines:
			if !more {
				return nil
			}
			w.seen.lock.Lock()
			tell(map[string]any{"rows": namesOf(w.seen.rows), "objects": namesOf(w.seen.objects),
				"metadata": namesOf(w.seen.partial), "faults": w.seen.faults, "resources": len(w.known)})
			w.seen.lock.Unlock()
		case <-time.After(discoverySeconds * time.Second):
			if err := w.discover(client); err != nil {
				return err
			}
		}
	}
}
