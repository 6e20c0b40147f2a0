package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	finalizer     = "clients.example.com/seen"
	seenBy        = "clients.example.com/seen-by"
	fieldOfNode   = "spec.nodeName"
	leaseDuration = 4 * time.Second
	renewDeadline = 3 * time.Second
	retryPeriod   = time.Second
)

// requestReconciler keeps, for every BindRequest that succeeded, a ConfigMap of its own which says who saw it
// and how many pods its node has; the pod gets an annotation.
type requestReconciler struct {
	client.Client
	identity string
}

func bindRequest() *unstructured.Unstructured {
	request := &unstructured.Unstructured{}
	request.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.berth.dev", Version: "v1alpha1",
		Kind: "BindRequest"})
	return request
}

func (r *requestReconciler) Reconcile(ctx context.Context, asked ctrl.Request) (ctrl.Result, error) {
	request := bindRequest()
	if err := r.Get(ctx, asked.NamespacedName, request); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !request.GetDeletionTimestamp().IsZero() {
		if controllerutil.RemoveFinalizer(request, finalizer) {
			return ctrl.Result{}, r.Update(ctx, request)
		}
		return ctrl.Result{}, nil
	}
	if phase, _, _ := unstructured.NestedString(request.Object, "status", "phase"); phase != "Succeeded" {
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(request, finalizer) {
		if err := r.Update(ctx, request); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.tell(ctx, request)
}

func (r *requestReconciler) tell(ctx context.Context, request *unstructured.Unstructured) error {
	node, _, _ := unstructured.NestedString(request.Object, "spec", "selectedNode")
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, client.InNamespace(request.GetNamespace()), client.MatchingFields{fieldOfNode: node}); err != nil {
		return err
	}
	seen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "seen-" + request.GetName(), Namespace: request.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, seen, func() error {
		if seen.Data["by"] == "" {
			seen.Data = map[string]string{"by": r.identity, "node": node, "pods": fmt.Sprint(len(pods.Items))}
		}
		return controllerutil.SetControllerReference(request, seen, r.Scheme())
	})
	if err != nil {
		return err
	}
	return r.annotate(ctx, request)
}

func (r *requestReconciler) annotate(ctx context.Context, request *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(request.Object, "spec", "podName")
	pod := &corev1.Pod{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: request.GetNamespace(), Name: name}, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	if pod.Annotations[seenBy] != "" {
		return nil
	}
	before := pod.DeepCopy()
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, seenBy, r.identity)
	return r.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func manager(config *rest.Config, namespace, identity string) (ctrl.Manager, error) {
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	made, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "reconciler.clients.example.com", LeaderElectionNamespace: namespace,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return nil, err
	}
	nodeOf := func(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }
	if err := made.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, fieldOfNode, nodeOf); err != nil {
		return nil, err
	}
	return made, ctrl.NewControllerManagedBy(made).Named("requests").For(bindRequest()).Owns(&corev1.ConfigMap{}).
		Complete(&requestReconciler{Client: made.GetClient(), identity: identity})
}

// reconciler says "leader" once it is elected.
func reconciler(config *rest.Config, namespace, identity string) error {
	log.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	made, err := manager(config, namespace, identity)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		}
		stop()
	}()
	go func() {
		select {
		case <-made.Elected():
			tell(map[string]any{"leader": identity})
		case <-ctx.Done():
		}
	}()
	return made.Start(ctx)
}
