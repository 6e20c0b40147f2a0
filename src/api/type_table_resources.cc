// Plurals, short names, categories and subresources, which the Go modules lack.
// Source: discovery documents of kube-apiserver 1.37.0.
#include <algorithm>

#include "api/type_table.h"
#include "base/assert.h"

namespace berth::api {
namespace {

constexpr std::string_view kAll = "create,delete,deletecollection,get,list,patch,update,watch";
constexpr std::string_view kNoCollection = "create,delete,get,list,patch,update,watch";
constexpr std::string_view kCreate = "create";
constexpr std::string_view kRead = "get,list";
constexpr bool kNamespaced = true;
constexpr bool kCluster = false;

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kAuthorization = "authorization.k8s.io";
constexpr std::string_view kDra = "resource.k8s.io";
constexpr std::string_view kFlow = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kNet = "networking.k8s.io";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kScheduling = "scheduling.k8s.io";
constexpr std::string_view kStorage = "storage.k8s.io";
constexpr std::string_view kUsageGroup = "metrics.k8s.io";

// group, version, plural, singular, kind, scope, short names, categories, subresources, verbs
constexpr ResourceInfo kResources[] = {
    {"", "v1", "bindings", "binding", "Binding", kNamespaced, "", "", "", kCreate},
    {"", "v1", "componentstatuses", "componentstatus", "ComponentStatus", kCluster, "cs", "", "", kRead},
    {"", "v1", "configmaps", "configmap", "ConfigMap", kNamespaced, "cm", "", "", kAll},
    {"", "v1", "endpoints", "endpoints", "Endpoints", kNamespaced, "ep", "", "", kAll},
    {"", "v1", "events", "event", "Event", kNamespaced, "ev", "", "", kAll},
    {"", "v1", "limitranges", "limitrange", "LimitRange", kNamespaced, "limits", "", "", kAll},
    {"", "v1", "namespaces", "namespace", "Namespace", kCluster, "ns", "", "finalize,status", kNoCollection},
    {"", "v1", "nodes", "node", "Node", kCluster, "no", "", "proxy,status", kAll},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", kNamespaced, "pvc",
     "", "status", kAll},
    {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", kCluster, "pv", "", "status",
     kAll},
    {"", "v1", "pods", "pod", "Pod", kNamespaced, "po", "all",
     "attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status", kAll},
    {"", "v1", "podtemplates", "podtemplate", "PodTemplate", kNamespaced, "", "", "", kAll},
    {"", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", kNamespaced, "rc",
     "all", "scale,status", kAll},
    {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", kNamespaced, "quota", "", "status", kAll},
    {"", "v1", "secrets", "secret", "Secret", kNamespaced, "", "", "", kAll},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", kNamespaced, "sa", "", "token", kAll},
    {"", "v1", "services", "service", "Service", kNamespaced, "svc", "all", "proxy,status", kAll},

    {kAdmission, "v1", "mutatingadmissionpolicies", "mutatingadmissionpolicy", "MutatingAdmissionPolicy",
     kCluster, "", "api-extensions", "", kAll},
    {kAdmission, "v1", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding",
     "MutatingAdmissionPolicyBinding", kCluster, "", "api-extensions", "", kAll},
    {kAdmission, "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
     "MutatingWebhookConfiguration", kCluster, "", "api-extensions", "", kAll},
    {kAdmission, "v1", "validatingadmissionpolicies", "validatingadmissionpolicy",
     "ValidatingAdmissionPolicy", kCluster, "", "api-extensions", "status", kAll},
    {kAdmission, "v1", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding",
     "ValidatingAdmissionPolicyBinding", kCluster, "", "api-extensions", "", kAll},
    {kAdmission, "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration",
     "ValidatingWebhookConfiguration", kCluster, "", "api-extensions", "", kAll},

    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
     "CustomResourceDefinition", kCluster, "crd,crds", "api-extensions", "status", kAll},

    {"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", kCluster, "",
     "api-extensions", "status", kAll},

    {"apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision", kNamespaced, "", "", "",
     kAll},
    {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", kNamespaced, "ds", "all", "status", kAll},
    {"apps", "v1", "deployments", "deployment", "Deployment", kNamespaced, "deploy", "all", "scale,status",
     kAll},
    {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", kNamespaced, "rs", "all", "scale,status", kAll},
    {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", kNamespaced, "sts", "all", "scale,status",
     kAll},

    {"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", kCluster,
     "", "", "", kCreate},
    {"authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", kCluster, "", "", "",
     kCreate},
    {kAuthorization, "v1", "localsubjectaccessreviews", "localsubjectaccessreview",
     "LocalSubjectAccessReview", kNamespaced, "", "", "", kCreate},
    {kAuthorization, "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview",
     kCluster, "", "", "", kCreate},
    {kAuthorization, "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview",
     kCluster, "", "", "", kCreate},
    {kAuthorization, "v1", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview", kCluster, "",
     "", "", kCreate},

    {"autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler",
     kNamespaced, "hpa", "all", "status", kAll},
    {"autoscaling", "v1", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler",
     kNamespaced, "hpa", "all", "status", kAll},
    {"batch", "v1", "cronjobs", "cronjob", "CronJob", kNamespaced, "cj", "all", "status", kAll},
    {"batch", "v1", "jobs", "job", "Job", kNamespaced, "", "all", "status", kAll},
    {"certificates.k8s.io", "v1", "certificatesigningrequests", "certificatesigningrequest",
     "CertificateSigningRequest", kCluster, "csr", "", "approval,status", kAll},
    {"certificates.k8s.io", "v1", "clustertrustbundles", "clustertrustbundle", "ClusterTrustBundle", kCluster,
     "", "", "", kAll},
    {"certificates.k8s.io", "v1", "podcertificaterequests", "podcertificaterequest", "PodCertificateRequest",
     kNamespaced, "", "", "status", kAll},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", kNamespaced, "", "", "", kAll},
    {"coordination.k8s.io", "v1beta1", "leasecandidates", "leasecandidate", "LeaseCandidate", kNamespaced, "",
     "", "", kAll},
    {"coordination.k8s.io", "v1alpha2", "leasecandidates", "leasecandidate", "LeaseCandidate", kNamespaced,
     "", "", "", kAll},
    {"discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice", kNamespaced, "", "", "",
     kAll},
    {"events.k8s.io", "v1", "events", "event", "Event", kNamespaced, "ev", "", "", kAll},
    {kFlow, "v1", "flowschemas", "flowschema", "FlowSchema", kCluster, "", "", "status", kAll},
    {kFlow, "v1", "prioritylevelconfigurations", "prioritylevelconfiguration", "PriorityLevelConfiguration",
     kCluster, "", "", "status", kAll},

    {kUsageGroup, "v1beta1", "nodes", "", "NodeMetrics", kCluster, "", "", "", kRead},
    {kUsageGroup, "v1beta1", "pods", "", "PodMetrics", kNamespaced, "", "", "", kRead},

    {kNet, "v1", "ingressclasses", "ingressclass", "IngressClass", kCluster, "", "", "", kAll},
    {kNet, "v1", "ingresses", "ingress", "Ingress", kNamespaced, "ing", "", "status", kAll},
    {kNet, "v1", "ipaddresses", "ipaddress", "IPAddress", kCluster, "ip", "", "", kAll},
    {kNet, "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", kNamespaced, "netpol", "", "", kAll},
    {kNet, "v1", "servicecidrs", "servicecidr", "ServiceCIDR", kCluster, "", "", "status", kAll},
    {"node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", kCluster, "", "", "", kAll},
    {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", kNamespaced, "pdb",
     "", "status", kAll},

    {kRbac, "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", kCluster, "", "", "",
     kAll},
    {kRbac, "v1", "clusterroles", "clusterrole", "ClusterRole", kCluster, "", "", "", kAll},
    {kRbac, "v1", "rolebindings", "rolebinding", "RoleBinding", kNamespaced, "", "", "", kAll},
    {kRbac, "v1", "roles", "role", "Role", kNamespaced, "", "", "", kAll},

    {kDra, "v1", "deviceclasses", "deviceclass", "DeviceClass", kCluster, "", "", "", kAll},
    {kDra, "v1", "devicetaintrules", "devicetaintrule", "DeviceTaintRule", kCluster, "", "", "status", kAll},
    {kDra, "v1", "resourceclaims", "resourceclaim", "ResourceClaim", kNamespaced, "", "", "status", kAll},
    {kDra, "v1", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", kNamespaced, "",
     "", "", kAll},
    {kDra, "v1", "resourceslices", "resourceslice", "ResourceSlice", kCluster, "", "", "", kAll},
    {kDra, "v1beta2", "deviceclasses", "deviceclass", "DeviceClass", kCluster, "", "", "", kAll},
    {kDra, "v1beta2", "devicetaintrules", "devicetaintrule", "DeviceTaintRule", kCluster, "", "", "status",
     kAll},
    {kDra, "v1beta2", "resourceclaims", "resourceclaim", "ResourceClaim", kNamespaced, "", "", "status",
     kAll},
    {kDra, "v1beta2", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", kNamespaced,
     "", "", "", kAll},
    {kDra, "v1beta2", "resourceslices", "resourceslice", "ResourceSlice", kCluster, "", "", "", kAll},
    {kDra, "v1beta1", "deviceclasses", "deviceclass", "DeviceClass", kCluster, "", "", "", kAll},
    {kDra, "v1beta1", "resourceclaims", "resourceclaim", "ResourceClaim", kNamespaced, "", "", "status",
     kAll},
    {kDra, "v1beta1", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", kNamespaced,
     "", "", "", kAll},
    {kDra, "v1beta1", "resourceslices", "resourceslice", "ResourceSlice", kCluster, "", "", "", kAll},
    {kDra, "v1alpha3", "devicetaintrules", "devicetaintrule", "DeviceTaintRule", kCluster, "", "", "status",
     kAll},
    {kDra, "v1alpha3", "resourcepoolstatusrequests", "resourcepoolstatusrequest", "ResourcePoolStatusRequest",
     kCluster, "", "", "status", kAll},

    {kBerthGroup, "v1alpha1", "bindrequests", "bindrequest", "BindRequest", kNamespaced, "br", "", "status",
     kAll},
    {kBerthGroup, "v1alpha1", "devicehealthpolicies", "devicehealthpolicy", "DeviceHealthPolicy", kCluster,
     "dhp", "", "status", kAll},
    {kBerthGroup, "v1alpha1", "nodedevicehealths", "nodedevicehealth", "NodeDeviceHealth", kCluster, "ndh",
     "", "", kAll},
    {kBerthGroup, "v1alpha1", "placementpolicies", "placementpolicy", "PlacementPolicy", kNamespaced, "pp",
     "", "status", kAll},
    {kBerthGroup, "v1alpha1", "topologies", "topology", "Topology", kCluster, "topo", "", "status", kAll},
    {kScheduling, "v1", "priorityclasses", "priorityclass", "PriorityClass", kCluster, "pc", "", "", kAll},
    {kScheduling, "v1beta1", "podgroups", "podgroup", "PodGroup", kNamespaced, "", "", "status", kAll},
    {kScheduling, "v1beta1", "workloads", "workload", "Workload", kNamespaced, "", "", "", kAll},
    {kScheduling, "v1alpha3", "compositepodgroups", "compositepodgroup", "CompositePodGroup", kNamespaced, "",
     "", "status", kAll},
    {kScheduling, "v1alpha3", "podgroups", "podgroup", "PodGroup", kNamespaced, "", "", "status", kAll},
    {kScheduling, "v1alpha3", "workloads", "workload", "Workload", kNamespaced, "", "", "", kAll},
    {kScheduling, "v1alpha2", "podgroups", "podgroup", "PodGroup", kNamespaced, "", "", "status", kAll},
    {kScheduling, "v1alpha2", "workloads", "workload", "Workload", kNamespaced, "", "", "", kAll},

    {kStorage, "v1", "csidrivers", "csidriver", "CSIDriver", kCluster, "", "", "", kAll},
    {kStorage, "v1", "csinodes", "csinode", "CSINode", kCluster, "", "", "status", kAll},
    {kStorage, "v1", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", kNamespaced, "", "",
     "", kAll},
    {kStorage, "v1", "storageclasses", "storageclass", "StorageClass", kCluster, "sc", "", "", kAll},
    {kStorage, "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", kCluster, "", "", "status",
     kAll},
    {kStorage, "v1", "volumeattributesclasses", "volumeattributesclass", "VolumeAttributesClass", kCluster,
     "vac", "", "", kAll},

    {"storagemigration.k8s.io", "v1", "storageversionmigrations", "storageversionmigration",
     "StorageVersionMigration", kCluster, "", "", "status", kAll},
};

}  // namespace

const TypeInfo& ResourceInfo::type() const {
  const TypeInfo* found = find_type(group, version, kind);
  BERTH_ASSERT(found, "every resource row names a type of the table");
  return *found;
}

bool ResourceInfo::has_subresource(std::string_view name) const {
  bool found = false;
  for_each_listed(subresources, [&](std::string_view listed) { found |= listed == name; });
  return found;
}

std::span<const ResourceInfo> resources() {
  return kResources;
}

const ResourceInfo* find_resource(std::string_view group, std::string_view version, std::string_view plural) {
  const auto found = std::find_if(std::begin(kResources), std::end(kResources), [&](const ResourceInfo& row) {
    return row.plural == plural && row.group == group && row.version == version;
  });
  return found == std::end(kResources) ? nullptr : found;
}

const ResourceInfo* find_resource_of_kind(std::string_view group, std::string_view version,
                                          std::string_view kind) {
  const auto found = std::find_if(std::begin(kResources), std::end(kResources), [&](const ResourceInfo& row) {
    return row.kind == kind && row.group == group && row.version == version;
  });
  return found == std::end(kResources) ? nullptr : found;
}

const ResourceInfo* find_resource_of_kind(std::string_view api_version, std::string_view kind) {
  const auto [group, version] = group_version_of(api_version);
  return find_resource_of_kind(group, version, kind);
}

}  // namespace berth::api
