package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	watchesPerConnection = 100
	lastEventSeconds     = 10
)

// sink collects when the events of watches came, by name of the pod.
type sink struct {
	lock sync.Mutex
	seen map[string]time.Time
	open atomic.Int64
}

func (s *sink) watch(client kubernetes.Interface, namespace, node string) error {
	selector := metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}
	events, err := client.CoreV1().Pods(namespace).Watch(context.Background(), selector)
	if err != nil {
		return err
	}
	s.open.Add(1)
	for event := range events.ResultChan() {
		if pod, isPod := event.Object.(*corev1.Pod); isPod {
			s.lock.Lock()
			s.seen[pod.Name] = time.Now()
			s.lock.Unlock()
		}
	}
	s.open.Add(-1)
	return nil
}

// watches opens a watch for each of COUNT nodes, as kubelets do, and creates pods on some of them at a rate.
func watches(config *rest.Config, namespace string, numbers []int) error {
	count, creates, perSecond := numbers[0], numbers[1], numbers[2]
	heard := &sink{seen: map[string]time.Time{}}
	failures := make(chan error, count)
	began := time.Now()
	var client kubernetes.Interface
	for number := range count {
		if number%watchesPerConnection == 0 {
			fresh, err := kubernetes.NewForConfig(ownConnection(withMediaType(config, runtime.ContentTypeProtobuf)))
			if err != nil {
				return err
			}
			client = fresh
		}
		go func(client kubernetes.Interface) {
			if err := heard.watch(client, namespace, fmt.Sprintf("n%05d", number)); err != nil {
				failures <- err
			}
		}(client)
	}
	for heard.open.Load() < int64(count) {
		select {
		case err := <-failures:
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
	tell(map[string]any{"open": count, "seconds": time.Since(began).Seconds()})
	sent, err := createAtRate(config, namespace, count, creates, perSecond)
	if err != nil {
		return err
	}
	tell(heard.delays(sent))
	return nil
}

// createAtRate says when each pod's create was sent.
func createAtRate(config *rest.Config, namespace string, nodes, creates, perSecond int) (map[string]time.Time, error) {
	client, err := kubernetes.NewForConfig(ownConnection(withMediaType(config, runtime.ContentTypeProtobuf)))
	if err != nil {
		return nil, err
	}
	sent, lock, began := map[string]time.Time{}, sync.Mutex{}, time.Now()
	failures := make(chan error, creates)
	var running sync.WaitGroup
	for number := range creates {
		time.Sleep(time.Until(began.Add(time.Duration(number) * time.Second / time.Duration(perSecond))))
		running.Go(func() {
			pod := podOf(fmt.Sprintf("heard-%06d", number), number)
			pod.Spec.NodeName = fmt.Sprintf("n%05d", number*7919%nodes)
			lock.Lock()
			sent[pod.Name] = time.Now()
			lock.Unlock()
			_, err := client.CoreV1().Pods(namespace).Create(context.Background(), pod, metav1.CreateOptions{})
			if err != nil {
				failures <- err
			}
		})
	}
	running.Wait()
	select {
	case err := <-failures:
		return nil, err
	default:
		return sent, nil
	}
}

func (s *sink) delays(sent map[string]time.Time) map[string]any {
	limit := time.Now().Add(lastEventSeconds * time.Second)
	for time.Now().Before(limit) {
		s.lock.Lock()
		complete := len(s.seen) >= len(sent)
		s.lock.Unlock()
		if complete {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	delays := []time.Duration{}
	for name, at := range sent {
		if seen, ok := s.seen[name]; ok {
			delays = append(delays, seen.Sub(at))
		}
	}
	slices.Sort(delays)
	return map[string]any{"creates": len(sent), "heard": len(delays), "still_open": s.open.Load(),
		"p50_ms": quantile(delays, 0.5), "p99_ms": quantile(delays, 0.99)}
}
