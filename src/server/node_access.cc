#include "server/node_access.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "api/node_names.h"
#include "base/base64.h"
#include "rbac/bootstrap_roles.h"
#include "server/matcher.h"
#include "server/metadata.h"
#include "server/registry.h"
#include "server/transport/certificates.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr std::string_view kNodesGroup = "system:nodes";
constexpr std::string_view kNodeUserPrefix = "system:node:";
constexpr std::string_view kNodeRole = "system:node";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
// Labels of Kubernetes' domains that a node may set on itself, and domains that are whole its own.
constexpr std::string_view kOwnLabels[] = {"kubernetes.io/hostname",
                                           "topology.kubernetes.io/zone",
                                           "topology.kubernetes.io/region",
                                           "failure-domain.beta.kubernetes.io/zone",
                                           "failure-domain.beta.kubernetes.io/region",
                                           "beta.kubernetes.io/instance-type",
                                           "node.kubernetes.io/instance-type",
                                           "kubernetes.io/os",
                                           "kubernetes.io/arch",
                                           "beta.kubernetes.io/os",
                                           "beta.kubernetes.io/arch"};
constexpr std::string_view kOwnLabelDomains[] = {"kubelet.kubernetes.io", "node.kubernetes.io"};
constexpr std::string_view kRestrictedDomain = "node-restriction.kubernetes.io";

using rbac::Decision;
using Words = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view word, Words words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string in_quotes(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

std::string node_in_quotes(const std::string& node) {
  return "node " + in_quotes(node);
}

Decision no(std::string reason) {
  return {false, std::move(reason)};
}

constexpr std::string_view kNameMembers[] = {"name", "secretName", "claimName"};

bool is_named(const Json& reference, std::string_view name) {
  return std::any_of(std::begin(kNameMembers), std::end(kNameMembers),
                     [&](std::string_view member) { return reference.string_at(member) == name; });
}

// Whether one of these members, at any depth, refers to the name.
bool refers(const Json& json, Words members, std::string_view name) {
  if (json.is_array())
    return std::any_of(json.as_array().begin(), json.as_array().end(),
                       [&](const Json& item) { return refers(item, members, name); });
  if (!json.is_object()) return false;
  for (const JsonMember& member : json.as_object()) {
    const Json& value = member.value;
    const bool is_reference = is_one_of(member.key, members);
    if (is_reference && value.is_object() && is_named(value, name)) return true;
    if (is_reference && value.is_array() &&
        std::any_of(value.as_array().begin(), value.as_array().end(),
                    [name](const Json& item) { return is_named(item, name); }))
      return true;
    if (refers(value, members, name)) return true;
  }
  return false;
}

bool uses_secret(const Json& pod, std::string_view name) {
  return refers(
      pod.part("spec"),
      {"secret", "secretRef", "secretKeyRef", "nodePublishSecretRef", "azureFile", "imagePullSecrets"}, name);
}

bool uses_config_map(const Json& pod, std::string_view name) {
  return refers(pod.part("spec"), {"configMap", "configMapRef", "configMapKeyRef"}, name);
}

bool uses_device_claim(const Json& pod, std::string_view name) {
  const auto is_it = [name](const Json& item) { return item.string_at("resourceClaimName") == name; };
  const Json& status = pod.part("status");
  const JsonArray &asked = pod.part("spec").items_at("resourceClaims"),
                  &made = status.items_at("resourceClaimStatuses");
  return std::any_of(asked.begin(), asked.end(), is_it) || std::any_of(made.begin(), made.end(), is_it) ||
         is_it(status.part("extendedResourceClaimStatus"));
}

bool uses_volume_claim(const Json& pod, std::string_view name) {
  if (refers(pod.part("spec"), {"persistentVolumeClaim"}, name)) return true;
  const std::string prefix = std::string(metadata_of(pod).string_at("name")) + "-";
  for (const Json& volume : pod.part("spec").items_at("volumes"))
    if (volume.find("ephemeral") && prefix + std::string(volume.string_at("name")) == name) return true;
  return false;
}

// A resource of which a node reads what its pods refer to.
struct Related {
  std::string_view group, resource;
  std::string_view verbs[3];
  const char* refusal;  // of another verb
};
constexpr const char* kOnlyRead = "can only read resources of this type";
constexpr const char* kOnlyGet = "can only get individual resources of this type";
constexpr Related kRelated[] = {
    {"", "secrets", {"get", "list", "watch"}, kOnlyRead},
    {"", "configmaps", {"get", "list", "watch"}, kOnlyRead},
    {"", "persistentvolumeclaims", {"get"}, kOnlyGet},
    {"", "persistentvolumeclaims/status", {"update", "patch"}, "can only get/update/patch this type"},
    {"", "persistentvolumes", {"get"}, kOnlyGet},
    {"resource.k8s.io", "resourceclaims", {"get"}, kOnlyGet},
    {"storage.k8s.io", "volumeattachments", {"get"}, kOnlyGet},
    {"", "serviceaccounts", {"get"}, "can only create tokens for individual service accounts"},
    {"", "serviceaccounts/token", {"create"}, "can only create tokens for individual service accounts"},
};

std::string_view domain_of(std::string_view label) {
  const std::size_t slash = label.find('/');
  return slash == std::string_view::npos ? std::string_view() : label.substr(0, slash);
}

bool is_below(std::string_view domain, std::string_view root) {
  return domain == root || (domain.ends_with(root) && domain[domain.size() - root.size() - 1] == '.');
}

bool may_set_label(std::string_view label) {
  const std::string_view domain = domain_of(label);
  if (is_below(domain, kRestrictedDomain)) return false;
  const bool of_kubernetes = is_below(domain, "kubernetes.io") || is_below(domain, "k8s.io");
  return !of_kubernetes ||
         std::find(std::begin(kOwnLabels), std::end(kOwnLabels), label) != std::end(kOwnLabels) ||
         std::any_of(std::begin(kOwnLabelDomains), std::end(kOwnLabelDomains),
                     [domain](std::string_view own) { return is_below(domain, own); });
}

// Labels that differ and are not the node's to set, sorted, with commas; empty: none.
std::string forbidden_labels(const Json& next, const Json* before) {
  static const Json kNone = Json::object();
  const auto labels_of = [](const Json* object) -> const Json& {
    const Json& labels = object ? metadata_of(*object).part("labels") : kNone;
    return labels.is_object() ? labels : kNone;
  };
  const Json &now = labels_of(&next), &then = labels_of(before);
  std::set<std::string> forbidden;
  for (const auto& [one, other] : {std::pair(&now, &then), std::pair(&then, &now)})
    for (const JsonMember& label : one->as_object()) {
      const Json* same = other->find(label.key);
      if ((!same || *same != label.value) && !may_set_label(label.key)) forbidden.insert(label.key);
    }
  std::string text;
  for (const std::string& label : forbidden) text += (text.empty() ? "" : ", ") + label;
  return text;
}

// Why a node may not write its Node so; empty: it may.
std::string node_problem(const std::string& node, const ObjectTarget& target, const Json* next,
                         const Json* before) {
  if (target.name != node)
    return node_in_quotes(node) + " is not allowed to modify node " + in_quotes(target.name);
  if (!next) return "";
  const std::string labels = forbidden_labels(*next, before);
  if (!before)
    return labels.empty() ? ""
                          : node_in_quotes(node) + " is not allowed to set the following labels: " + labels;
  const auto differs = [&](std::string_view part, std::string_view member) {
    return next->part(part).items_at(member) != before->part(part).items_at(member);
  };
  if (differs("spec", "taints")) return node_in_quotes(node) + " is not allowed to modify taints";
  if (differs("metadata", "ownerReferences"))
    return node_in_quotes(node) + " is not allowed to modify ownerReferences";
  return labels.empty() ? "" : "is not allowed to modify labels: " + labels;
}

// Why a node may not ask for this certificate; the signer has its own rules (certificate_signer.h).
std::string certificate_problem(const std::string& node, const Json& spec) {
  const std::string_view signer = spec.string_at("signerName");
  if (!is_one_of(signer, {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}))
    return "";
  const Result<std::string> pem = base64_decode(spec.string_at("request"));
  const auto request = pem ? read_signing_request(*pem) : Result<SigningRequest>(pem.error());
  if (!request) return "unable to parse csr: " + request.error().message();
  const std::string own = std::string(kNodeUserPrefix) + node;
  return request->common_name == own ? "" : "can only create a node CSR with CN=" + own;
}

// Parts of a pod's status that are not the node's to write.
struct ForeignStatus {
  std::string_view member, words;
};
constexpr ForeignStatus kForeignStatus[] = {
    {"resourceClaimStatuses", "cannot update resource claim statues"},
    {"extendedResourceClaimStatus", "cannot update extended resource claim status"},
    {"nodeAllocatableResourceClaimStatuses", "cannot update node allocatable resource claim statuses"}};

std::string pod_status_problem(const std::string& node, const Json& next, const Json& before) {
  if (before.part("spec").string_at("nodeName") != node)
    return node_in_quotes(node) + " can only update pod status for pods with spec.nodeName set to itself";
  if (metadata_of(next).part("labels") != metadata_of(before).part("labels"))
    return node_in_quotes(node) + " cannot update labels through pod status";
  for (const ForeignStatus& row : kForeignStatus)
    if (next.part("status").part(row.member) != before.part("status").part(row.member))
      return node_in_quotes(node) + " " + std::string(row.words);
  return "";
}

// An object of its own name: a Lease, a CSINode.
std::string own_name_problem(const std::string& node, const ObjectTarget& target) {
  if (target.resource->plural == "csinodes")
    return target.name == node ? "" : "can only access CSINode with the same name as the requesting node";
  if (target.ns != kLeaseNamespace)
    return "can only access leases in the " + in_quotes(kLeaseNamespace) + " system namespace";
  return target.name == node ? "" : "can only access node lease with the same name as the requesting node";
}

std::string slice_problem(const std::string& node, const Json* next, const Json* before) {
  if (next && before) return "";
  const Json& slice = next ? *next : *before;
  if (slice.part("spec").string_at("nodeName") == node) return "";
  return std::string("can only ") + (next ? "create" : "delete") +
         " ResourceSlice with the same NodeName as the requesting node";
}

// What a pod of a node must not have: it would let the node read the object.
std::string referenced_by(const Json& spec) {
  if (!spec.string_at("serviceAccountName").empty()) return "serviceaccounts";
  if (!spec.items_at("imagePullSecrets").empty()) return "secrets";
  if (!spec.items_at("resourceClaims").empty()) return "resourceclaims";
  constexpr std::pair<std::string_view, std::string_view> kByMember[] = {
      {"secretKeyRef", "secrets"},
      {"secretRef", "secrets"},
      {"secret", "secrets"},
      {"azureFile", "secrets"},
      {"configMapKeyRef", "configmaps"},
      {"configMapRef", "configmaps"},
      {"configMap", "configmaps"},
      {"csi", "csidrivers (via CSI volumes)"},
      {"glusterfs", "endpoints (via glusterFS volumes)"},
      {"persistentVolumeClaim", "persistentvolumeclaims"},
      {"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"},
      {"serviceAccountToken", "serviceaccounts (via projected volumes)"},
      {"clusterTrustBundle", "clustertrustbundles"},
      {"podCertificate", "podcertificates"}};
  const std::function<bool(const Json&, std::string_view)> has = [&](const Json& json,
                                                                     std::string_view key) -> bool {
    if (json.is_array())
      return std::any_of(json.as_array().begin(), json.as_array().end(),
                         [&](const Json& item) { return has(item, key); });
    if (!json.is_object()) return false;
    return json.find(key) || std::any_of(json.as_object().begin(), json.as_object().end(),
                                         [&](const JsonMember& member) { return has(member.value, key); });
  };
  for (const auto& [member, resource] : kByMember)
    if (has(spec, member)) return std::string(resource);
  return "";
}

bool is_mirror(const Json& pod) {
  return metadata_of(pod).part("annotations").find(api::kMirrorAnnotation) != nullptr;
}

// Of the role system:node.
const std::vector<rbac::PolicyRule>& rules_of_nodes() {
  static const std::vector<rbac::PolicyRule> kRules = [] {
    for (const Json& object : rbac::bootstrap_objects())
      if (object.string_at("kind") == "ClusterRole" && metadata_of(object).string_at("name") == kNodeRole)
        return rbac::Role::read(object).own.rules;
    return std::vector<rbac::PolicyRule>();
  }();
  return kRules;
}

bool is_verb_of_one(std::string_view verb) {
  return is_one_of(verb, {"get", "create", "update", "patch", "delete"});
}

Decision decide_lease(const std::string& node, const rbac::Attributes& asked) {
  if (!is_verb_of_one(asked.verb)) return no("can only get, create, update, patch, or delete a node lease");
  if (asked.ns != kLeaseNamespace)
    return no("can only access leases in the " + in_quotes(kLeaseNamespace) + " system namespace");
  // A create has no name here; the check of the write sees it.
  if (asked.verb == "create" || asked.name == node) return {true, ""};
  return no("can only access node lease with the same name as the requesting node");
}

Decision decide_csi_node(const std::string& node, const rbac::Attributes& asked) {
  const bool of_status = asked.resource == "csinodes/status";
  if (!of_status && asked.resource != "csinodes") return no("cannot authorize CSINode subresources");
  if (of_status && !is_one_of(asked.verb, {"get", "update", "patch"}))
    return no("can only get, update, or patch CSINode status");
  if (!is_verb_of_one(asked.verb)) return no("can only get, create, update, patch, or delete a CSINode");
  if (asked.verb == "create" || asked.name == node) return {true, ""};
  return no("can only access CSINode with the same name as the requesting node");
}

Decision decide_node(const std::string& node, const rbac::Attributes& asked) {
  if (asked.resource == "nodes/status") return {is_one_of(asked.verb, {"update", "patch"}), ""};
  if (asked.resource != "nodes") return no("");
  if (is_one_of(asked.verb, {"create", "update", "patch"})) return {true, ""};
  if (!is_one_of(asked.verb, {"get", "list", "watch"})) return no("");
  if (asked.name == node) return {true, ""};
  return no("node '" + node + "' cannot read " +
            (asked.name.empty() ? "all nodes" : "'" + std::string(asked.name) + "'") +
            ", only its own Node object");
}

std::string owner_problem(const std::string& node, const JsonArray& owners) {
  const std::string can = node_in_quotes(node) + " can only create pods with ";
  if (owners.size() > 1) return can + "a single owner reference set to itself";
  const bool own = !owners.empty() && owners[0].string_at("apiVersion") == "v1" &&
                   owners[0].string_at("kind") == "Node" && owners[0].string_at("name") == node;
  if (!own) return can + "an owner reference set to itself";
  if (!owners[0].bool_at("controller")) return can + "a controller owner reference set to itself";
  return owners[0].bool_at("blockOwnerDeletion")
             ? node_in_quotes(node) + " must not set blockOwnerDeletion on an owner reference"
             : "";
}

}  // namespace

std::optional<std::string> node_of(const rbac::User& user) {
  if (!user.name.starts_with(kNodeUserPrefix) || !user.is_in(kNodesGroup)) return std::nullopt;
  return user.name.substr(kNodeUserPrefix.size());
}

Decision NodeAccess::decide(const std::string& node, const rbac::Attributes& asked) const {
  if (node.empty()) return no("unknown node for user \"" + std::string(kNodeUserPrefix) + "\"");
  if (asked.path.empty())
    if (std::optional<Decision> decision = decide_about(node, asked)) return *std::move(decision);
  const std::vector<rbac::PolicyRule>& rules = rules_of_nodes();
  return {std::any_of(rules.begin(), rules.end(),
                      [&](const rbac::PolicyRule& rule) { return rule.allows(asked); }),
          ""};
}

// Nothing for a resource that belongs to no node.
std::optional<Decision> NodeAccess::decide_about(const std::string& node,
                                                 const rbac::Attributes& asked) const {
  for (const Related& row : kRelated)
    if (row.group == asked.group && row.resource == asked.resource)
      return std::find(std::begin(row.verbs), std::end(row.verbs), asked.verb) == std::end(row.verbs)
                 ? no(row.refusal)
                 : related(node, asked);
  const std::string_view resource = std::string_view(asked.resource).substr(0, asked.resource.find('/'));
  if (asked.group == "coordination.k8s.io" && resource == "leases") return decide_lease(node, asked);
  if (asked.group == "storage.k8s.io" && resource == "csinodes") return decide_csi_node(node, asked);
  if (asked.group == "resource.k8s.io" && resource == "resourceslices") return decide_slice(node, asked);
  if (asked.group.empty() && resource == "nodes") return decide_node(node, asked);
  if (asked.group.empty() && resource == "pods") return decide_pod(node, asked);
  return std::nullopt;
}

Decision NodeAccess::decide_slice(const std::string& node, const rbac::Attributes& asked) const {
  if (asked.resource != "resourceslices") return no("cannot authorize ResourceSlice subresources");
  // The check of the write sees the object.
  if (asked.verb == "create") return {true, ""};
  if (is_one_of(asked.verb, {"get", "update", "patch", "delete"})) return related(node, asked);
  if (is_one_of(asked.verb, {"list", "watch", "deletecollection"}) && asked.selected_node == node)
    return {true, ""};
  return no("can only list/watch/deletecollection resourceslices with nodeName field selector");
}

Decision NodeAccess::decide_pod(const std::string& node, const rbac::Attributes& asked) const {
  if (asked.resource == "pods") {
    if (asked.verb == "get") return related(node, asked);
    if (is_one_of(asked.verb, {"create", "delete"})) return {true, ""};
    if (!is_one_of(asked.verb, {"list", "watch"})) return no("");
    if (asked.selected_node == node) return {true, ""};
    return asked.name.empty() ? no("can only list/watch pods with spec.nodeName field selector")
                              : related(node, asked);
  }
  const bool of_status = asked.resource == "pods/status" && is_one_of(asked.verb, {"update", "patch"});
  return {of_status || (asked.resource == "pods/eviction" && asked.verb == "create"), ""};
}

Decision NodeAccess::related(const std::string& node, const rbac::Attributes& asked) const {
  const std::string_view resource = std::string_view(asked.resource).substr(0, asked.resource.find('/'));
  if (asked.name.empty()) return no("No Object name found");
  if (is_related(node, resource, asked.ns, asked.name)) return {true, ""};
  return no("no relationship found between node '" + node + "' and this object");
}

bool NodeAccess::is_related(const std::string& node, std::string_view resource, std::string_view ns,
                            std::string_view name) const {
  const auto runs_here = [&](std::string_view key) {
    const std::optional<Json> object = stored(key, ns, name);
    return object && object->part("spec").string_at("nodeName") == node;
  };
  if (resource == "pods") return runs_here("pods");
  if (resource == "resourceslices") return runs_here("resourceslices.resource.k8s.io");
  if (resource == "volumeattachments") return runs_here("volumeattachments.storage.k8s.io");
  if (resource == "persistentvolumes") {
    const std::optional<Json> volume = stored(resource, "", name);
    const Json claim = volume ? volume->part("spec").part("claimRef") : Json();
    return some_pod(node, claim.string_at("namespace"),
                    [&claim](const Json& pod) { return uses_volume_claim(pod, claim.string_at("name")); });
  }
  return some_pod(node, ns, [&](const Json& pod) {
    if (resource == "secrets") return uses_secret(pod, name);
    if (resource == "configmaps") return uses_config_map(pod, name);
    if (resource == "persistentvolumeclaims") return uses_volume_claim(pod, name);
    if (resource == "resourceclaims") return uses_device_claim(pod, name);
    return resource == "serviceaccounts" && pod.part("spec").string_at("serviceAccountName") == name;
  });
}

bool NodeAccess::some_pod(const std::string& node, std::string_view ns, const Test& test) const {
  if (ns.empty()) return false;
  const ApiResult<Matcher> here =
      make_matcher(*api::find_resource("", "v1", "pods"), "", "spec.nodeName=" + node, "");
  if (!here) return false;  // a user whose name ends in no name of a Node
  store::ListQuery query;
  query.resource = "pods";
  query.ns = ns;
  const std::unique_ptr<store::Cursor> pods = registry_.store().open_cursor(query).value();
  while (const store::ObjectPtr object = pods->next()) {
    if (!here->may_select(*object)) continue;
    const Result<Json> pod = registry_.document_of(*object);
    if (pod && pod->part("spec").string_at("nodeName") == node && !is_mirror(*pod) && test(*pod)) return true;
  }
  return false;
}

std::optional<Json> NodeAccess::stored(std::string_view resource, std::string_view ns,
                                       std::string_view name) const {
  const store::ObjectPtr object =
      registry_.store().get({std::string(resource), std::string(ns), std::string(name)});
  const Result<Json> document = object ? registry_.document_of(*object) : Result<Json>(Json());
  return object && document ? std::optional(*document) : std::nullopt;
}

ApiResult<void> NodeAccess::check_write(const std::string& node, const ObjectTarget& target, const Json* next,
                                        const Json* before) const {
  const auto answer = [&target](const std::string& problem) {
    return problem.empty() ? ApiResult<void>() : forbidden(target.resource_name(), target.name, problem);
  };
  if (node.empty()) return answer("could not determine node from user " + in_quotes(kNodeUserPrefix));
  const auto is = [&target](std::string_view group, std::string_view plural) {
    return target.resource->group == group && target.resource->plural == plural;
  };
  if (is("", "pods")) return answer(pod_problem(node, target, next, before));
  if (is("", "nodes")) return answer(node_problem(node, target, next, before));
  if (is("coordination.k8s.io", "leases") || is("storage.k8s.io", "csinodes"))
    return answer(own_name_problem(node, target));
  if (is("resource.k8s.io", "resourceslices")) return answer(slice_problem(node, next, before));
  if (is("certificates.k8s.io", "certificatesigningrequests") && next && !before)
    return answer(certificate_problem(node, next->part("spec")));
  if (is("", "persistentvolumeclaims") && target.subresource != "status")
    return answer("may only update PVC status");
  return {};
}

std::string NodeAccess::pod_problem(const std::string& node, const ObjectTarget& target, const Json* next,
                                    const Json* before) const {
  if (target.subresource == "status" && next && before) return pod_status_problem(node, *next, *before);
  if (!target.subresource.empty())
    return "unexpected pod subresource " + in_quotes(target.subresource) +
           ", only 'status' and 'eviction' are allowed";
  if (next && before)
    return "unexpected operation \"UPDATE\", " + node_in_quotes(node) +
           " can only create and delete mirror pods";
  if (next) return mirror_problem(node, *next);
  return before->part("spec").string_at("nodeName") == node
             ? ""
             : node_in_quotes(node) + " can only delete pods with spec.nodeName set to itself";
}

std::string NodeAccess::mirror_problem(const std::string& node, const Json& pod) const {
  if (!is_mirror(pod))
    return "pod does not have " + in_quotes(api::kMirrorAnnotation) + " annotation, " + node_in_quotes(node) +
           " can only create mirror pods";
  if (pod.part("spec").string_at("nodeName") != node)
    return node_in_quotes(node) + " can only create pods with spec.nodeName set to itself";
  const JsonArray& owners = metadata_of(pod).items_at("ownerReferences");
  if (std::string problem = owner_problem(node, owners); !problem.empty()) return problem;
  const store::ObjectPtr own = registry_.store().get({"nodes", "", node});
  const std::string uid(owners[0].string_at("uid"));
  if (!own) return "nodes " + in_quotes(node) + " not found";
  if (own->uid != uid) return "node " + node + " UID mismatch: expected " + uid + " got " + own->uid;
  const std::string resource = referenced_by(pod.part("spec"));
  return resource.empty() ? "" : node_in_quotes(node) + " can not create pods that reference " + resource;
}

ApiResult<void> NodeAccess::check_body(const std::string& node, const ObjectTarget& target,
                                       const Json& body) const {
  const auto refuse = [&target](const std::string& problem) {
    return forbidden(target.resource_name(), target.name, problem);
  };
  if (target.subresource == "binding") return refuse(pod_problem(node, target, nullptr, nullptr));
  const bool evicts = target.subresource == "eviction";
  if (!evicts && target.subresource != "token") return {};
  const Json& bound = body.part("spec").part("boundObjectRef");
  const std::string pod_name(evicts ? std::string_view(target.name) : bound.string_at("name"));
  if (!evicts &&
      (bound.string_at("apiVersion") != "v1" || bound.string_at("kind") != "Pod" || pod_name.empty()))
    return refuse("node requested token not bound to a pod");
  if (!evicts && bound.string_at("uid").empty())
    return refuse("node requested token with a pod binding without a uid");
  const std::optional<Json> pod = stored("pods", target.ns, pod_name);
  if (!pod) return not_found({"", "pods"}, pod_name);
  if (!evicts && metadata_of(*pod).string_at("uid") != bound.string_at("uid"))
    return refuse(
        "the UID in the bound object reference (" + std::string(bound.string_at("uid")) +
        ") does not match the UID in record. The object might have been deleted and then recreated");
  if (pod->part("spec").string_at("nodeName") == node) return {};
  return refuse(evicts ? "node " + node + " can only evict pods with spec.nodeName set to itself"
                       : "node requested token bound to a pod scheduled on a different node");
}

}  // namespace berth::server
