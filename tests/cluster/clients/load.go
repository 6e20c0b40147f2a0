package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func podOf(name string, number int) *corev1.Pod {
	size := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"app": "load", "tenth": fmt.Sprint(number % 10)}},
		Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{
			Name: "main", Image: "app:1", Resources: corev1.ResourceRequirements{Requests: size}}}}}
}

// ownConnection makes client-go open a connection for this configuration alone.
func ownConnection(config *rest.Config) *rest.Config {
	changed := rest.CopyConfig(config)
	changed.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	return changed
}

func quantile(sorted []time.Duration, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(part*float64(len(sorted)-1))].Microseconds()) / 1000
}

// load creates pods; numbers are the first number, the count, the workers and the rate (0: as fast as can be).
func load(config *rest.Config, namespace string, numbers []int) error {
	first, count, workers, perSecond := numbers[0], numbers[1], numbers[2], numbers[3]
	next, failures := make(chan int), make(chan error, workers)
	delays := make([][]time.Duration, workers)
	var running sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		client, err := kubernetes.NewForConfig(ownConnection(withMediaType(config, runtime.ContentTypeProtobuf)))
		if err != nil {
			return err
		}
		running.Go(func() {
			pods := client.CoreV1().Pods(namespace)
			for number := range next {
				sent := time.Now()
				pod := podOf(fmt.Sprintf("load-%06d", number), number)
				if _, err := pods.Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
					failures <- err
					return
				}
				delays[worker] = append(delays[worker], time.Since(sent))
			}
		})
	}
	for number := first; number < first+count; number++ {
		if perSecond > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(number-first) * time.Second / time.Duration(perSecond))))
		}
		select {
		case next <- number:
		case err := <-failures:
			return err
		}
	}
	close(next)
	running.Wait()
	seconds := time.Since(began).Seconds()
	all := slices.Concat(delays...)
	slices.Sort(all)
	if len(all) < count {
		return <-failures
	}
	tell(map[string]any{"created": count, "seconds": seconds, "per_second": float64(count) / seconds,
		"p50_ms": quantile(all, 0.5), "p99_ms": quantile(all, 0.99)})
	return nil
}
