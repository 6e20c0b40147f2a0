package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const pageSize = 5000

// informer keeps an informer's store of pods and, asked by a line, compares it with a list of its own.
func informer(config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Informer()
	var added, updated, deleted atomic.Int64
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	if err != nil {
		return err
	}
	began := time.Now()
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	tell(map[string]any{"synced_seconds": time.Since(began).Seconds(), "objects": len(pods.GetStore().ListKeys())})
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		differing, err := compare(client, namespace, pods.GetStore())
		fields := map[string]any{"objects": len(pods.GetStore().ListKeys()), "differing": differing,
			"added": added.Load(), "updated": updated.Load(), "deleted": deleted.Load()}
		if err != nil {
			fields["error"] = err.Error()
		}
		tell(fields)
	}
	close(stop)
	return nil
}

// compare counts the pods whose version is another one in the store than in a list, page by page.
func compare(client kubernetes.Interface, namespace string, store cache.Store) (int, error) {
	listed := map[string]string{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.CoreV1().Pods(namespace).List(context.Background(), options)
		if err != nil {
			return 0, err
		}
		for i := range page.Items {
			listed[page.Items[i].Namespace+"/"+page.Items[i].Name] = page.Items[i].ResourceVersion
		}
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
	}
	differing := 0
	for _, item := range store.List() {
		pod, isPod := item.(*corev1.Pod)
		if !isPod {
			return 0, fmt.Errorf("the store holds a %T", item)
		}
		key := pod.Namespace + "/" + pod.Name
		if listed[key] != pod.ResourceVersion {
			differing++
		}
		delete(listed, key)
	}
	return differing + len(listed), nil
}
