package main

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// registrations are the group versions that Berth serves or decodes.
var registrations = []func(*runtime.Scheme) error{
	admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme,
	authorizationv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
	certificatesv1.AddToScheme, coordinationv1.AddToScheme, coordinationv1alpha2.AddToScheme,
	coordinationv1beta1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
	flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme,
	rbacv1.AddToScheme, resourcev1.AddToScheme, resourcev1alpha3.AddToScheme, resourcev1beta1.AddToScheme,
	resourcev1beta2.AddToScheme, schedulingv1.AddToScheme, schedulingv1alpha3.AddToScheme,
	schedulingv1beta1.AddToScheme, storagev1.AddToScheme, storagemigrationv1.AddToScheme,
	apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, metricsv1beta1.AddToScheme,
}

// metaKinds exist in every group version; the table has them once, under meta.k8s.io/v1.
var metaKinds = map[string]runtime.Object{
	"Status": &metav1.Status{}, "DeleteOptions": &metav1.DeleteOptions{}, "CreateOptions": &metav1.CreateOptions{},
	"UpdateOptions": &metav1.UpdateOptions{}, "PatchOptions": &metav1.PatchOptions{},
	"ListOptions": &metav1.ListOptions{}, "GetOptions": &metav1.GetOptions{},
	"PartialObjectMetadata": &metav1.PartialObjectMetadata{}, "List": &metav1.List{},
	"PartialObjectMetadataList": &metav1.PartialObjectMetadataList{},
}

var metaVersion = schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range registrations {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}
