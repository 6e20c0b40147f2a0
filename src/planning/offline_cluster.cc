#include "planning/offline_cluster.h"

#include <algorithm>

#include "api/kind_rules.h"
#include "api/type_table.h"
#include "api/types/claim_consumer.h"
#include "base/assert.h"
#include "dra/cel_check.h"
#include "planning/workload_pods.h"

namespace berth::planning {
namespace {

constexpr int kClaimNameTriesMax = 8;
constexpr std::int64_t kDefaultNow = 946'684'800;  // 2000-01-01T00:00:00Z

// Admission reads them, no decision does.
constexpr std::string_view kRuntimeClasses = "runtimeclasses.node.k8s.io";

bool is_runtime_class(const Json& object) {
  return object.string_at("kind") == "RuntimeClass" &&
         object.string_at("apiVersion").starts_with("node.k8s.io/");
}

// Objects are loaded in the order of their references; pods last.
bool is_planned(api::Kind kind) {
  return kind != api::Kind::Other && kind != api::Kind::Lease;
}

// Of a Service or a controller of pods.
std::optional<api::ResourceRef> replicas_resource(const Json& object) {
  const api::ResourceInfo* row =
      api::find_resource_of_kind(object.string_at("apiVersion"), object.string_at("kind"));
  if (!row) return std::nullopt;
  api::ResourceRef resource{std::string(row->group), std::string(row->version), std::string(row->plural)};
  if (!model::ReplicaSelectors::reads(resource)) return std::nullopt;
  return resource;
}

void newest(const Json& value, Time& latest) {
  if (value.is_object()) {
    for (const JsonMember& member : value.as_object()) {
      if (member.value.is_string() &&
          (member.key.ends_with("Timestamp") || member.key.ends_with("Time") || member.key == "timeAdded")) {
        const Result<Time> time = parse_time(member.value.as_string());
        if (time && *time > latest) latest = *time;
      } else {
        newest(member.value, latest);
      }
    }
  } else if (value.is_array()) {
    for (const Json& item : value.as_array()) newest(item, latest);
  }
}

api::Pod with_extended_claim(const api::Pod& pod, const std::string& name, const api::ExtendedClaim& claim) {
  Result<Json> object = parse_json(*pod.raw);
  BERTH_ASSERT(object.ok(), "the plan wrote this text itself");
  (*object)["status"]["extendedResourceClaimStatus"] =
      Json::object({{"resourceClaimName", name}, {"requestMappings", claim.mappings}});
  return api::decode_pod(*object, std::make_shared<const std::string>(to_string(*object)));
}

}  // namespace

Time now_of(const std::vector<Document>& documents, const PlanOptions& options) {
  Time now = options.now;
  if (now.is_set()) return now;
  for (const Document& document : documents) newest(document.object, now);
  return now.is_set() ? now : Time::from_seconds(kDefaultNow);
}

Result<std::unique_ptr<OfflineCluster>> OfflineCluster::make(std::vector<Document> documents,
                                                             const PlanOptions& options) {
  auto made = std::make_unique<OfflineCluster>(options.device_gates.node_allocatable_resources
                                                   ? model::NodeAllocatable::Counted
                                                   : model::NodeAllocatable::Ignored);
  made->now_ = now_of(documents, options);
  if (Status gathered = made->gather(std::move(documents)); !gathered) return gathered.error();
  made->admit(options);
  made->make_claims();
  made->make_volume_claims();
  if (Status decoded = made->decode(options.device_gates); !decoded) return decoded.error();
  return made;
}

const std::string& OfflineCluster::trouble_of(const client::NamedKey& pod) const {
  static const std::string none;
  const auto found = troubles_.find(pod);
  return found == troubles_.end() ? none : found->second;
}

Status OfflineCluster::gather(std::vector<Document> documents) {
  for (Document& document : documents) {
    if (is_runtime_class(document.object))
      runtime_classes_[std::string(document.object.part("metadata").string_at("name"))] = document.object;
    note_owners(document.object);
    if (document.kind == api::Kind::Other) TRY(note_replicas(document.object));
    if (!is_planned(document.kind)) continue;
    const api::KindInfo& info = api::info_of(document.kind);
    Json& metadata = document.object["metadata"];
    if (info.namespaced && metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
    if (!info.namespaced) metadata.as_object().erase("namespace");
    std::string name(metadata.string_at("name"));
    if (name.empty() && !metadata.string_at("generateName").empty())
      return Error(ErrorCode::Invalid, "metadata.name",
                   std::string(info.name) + " has only a generateName: a plan needs its name");
    const client::NamedKey key{std::string(metadata.string_at("namespace")), name};
    const std::string text = std::string(info.name) + " " + (key.ns.empty() ? "" : key.ns + "/") + name;
    if (metadata.string_at("uid").empty()) metadata["uid"] = derived_uid(text);
    if (metadata.string_at("resourceVersion").empty()) metadata["resourceVersion"] = "1";
    if (document.kind == api::Kind::Pod && !document.trouble.empty()) troubles_[key] = document.trouble;
    if (!documents_.try_emplace({document.kind, key}, std::move(document.object)).second)
      return Error(ErrorCode::Exists, "metadata.name", text + " is in the input twice");
  }
  return {};
}

void OfflineCluster::note_owners(const Json& object) {
  std::vector<api::OwnerReference> owners = api::owners_of_document(object);
  if (owners.empty()) return;
  const Json& metadata = object.part("metadata");
  const std::string_view ns = metadata.string_at("namespace");
  const api::OwnerReference self{std::string(object.string_at("apiVersion")),
                                 std::string(object.string_at("kind")),
                                 std::string(metadata.string_at("name")), ""};
  owners_[{std::string(ns.empty() ? "default" : ns), api::target_of(self)}] = std::move(owners);
}

// A Service or a controller of pods: which of them are replicas.
Status OfflineCluster::note_replicas(const Json& object) {
  const std::optional<api::ResourceRef> resource = replicas_resource(object);
  if (!resource) return {};
  Json named = object;
  Json& metadata = named["metadata"];
  if (metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
  const api::ObjectKey key{api::Kind::Other, std::string(metadata.string_at("namespace")),
                           std::string(metadata.string_at("name")), *resource};
  auto raw = std::make_shared<const std::string>(to_string(named));
  const api::TypedObject typed = TRY(api::decode_typed(api::Kind::Other, std::move(raw)));
  if (auto delta = view_.put(key, typed)) cluster_.apply(*delta);
  return {};
}

placement::OwnersOf OfflineCluster::owners() const {
  return [this](const std::string& ns, const api::OwnerReference& object) {
    const auto found = owners_.find({ns, api::target_of(object)});
    placement::KnownOwners known;
    if (found != owners_.end()) known.owners = found->second;
    return known;
  };
}

// "priorityclasses.scheduling.k8s.io"
api::Kind OfflineCluster::kind_of(std::string_view resource) {
  const std::size_t dot = resource.find('.');
  const std::string_view group =
      dot == std::string_view::npos ? std::string_view() : resource.substr(dot + 1);
  return api::kind_of_resource(group, resource.substr(0, dot));
}

// Priorities and what RuntimeClasses add, as the API server sets them; a pod that has a priority was
// admitted.
void OfflineCluster::admit(const PlanOptions& options) {
  const auto read = [this](std::string_view resource, std::string_view ns,
                           std::string_view name) -> std::optional<Json> {
    if (resource == kRuntimeClasses) {
      const auto known = runtime_classes_.find(name);
      return known == runtime_classes_.end() ? std::nullopt : std::optional(known->second);
    }
    const auto found = documents_.find({kind_of(resource), {std::string(ns), std::string(name)}});
    return found == documents_.end() ? std::nullopt : std::optional(found->second);
  };
  const auto list = [this](std::string_view resource, std::string_view ns) {
    const api::Kind kind = kind_of(resource);
    std::vector<Json> found;
    for (auto at = documents_.lower_bound({kind, {}}); at != documents_.end() && at->first.first == kind;
         ++at)
      if (ns.empty() || at->first.second.ns == ns) found.push_back(at->second);
    return found;
  };
  const api::RuleContext ctx{*options.gates, dra::check_cel, now_, "berth-plan", read, list};
  for (auto& [key, object] : documents_) {
    if (key.first != api::Kind::Pod && key.first != api::Kind::PodGroup &&
        key.first != api::Kind::CompositePodGroup)
      continue;
    if (object.part("spec").part("priority").is_int()) continue;
    const api::KindInfo& info = api::info_of(key.first);
    const api::KindRules& rules = api::rules_of(info.group, info.resource);
    if (!rules.admit_create) continue;
    if (const auto rejection = rules.admit_create(object, ctx)) troubles_[key.second] = rejection->message;
  }
}

void OfflineCluster::make_claims() {
  for (auto& [key, object] : documents_) {
    if (key.first != api::Kind::Pod) continue;
    const JsonArray entries = object.part("spec").items_at("resourceClaims");
    for (const Json& entry : entries) {
      const std::string_view from = entry.string_at("resourceClaimTemplateName");
      const JsonArray& statuses = object.part("status").items_at("resourceClaimStatuses");
      const bool known = std::any_of(statuses.begin(), statuses.end(), [&](const Json& status) {
        return status.string_at("name") == entry.string_at("name");
      });
      if (!from.empty() && !known) make_claim(object, entry, from);
    }
  }
}

// The claim `<pod>-<entry>`; an existing claim of the pod is used as it is.
void OfflineCluster::make_claim(Json& pod, const Json& entry, std::string_view from) {
  const Json& metadata = pod.part("metadata");
  const std::string ns(metadata.string_at("namespace"));
  const std::string entry_name(entry.string_at("name"));
  const auto source = documents_.find({api::Kind::ResourceClaimTemplate, {ns, std::string(from)}});
  if (source == documents_.end()) return;
  const std::string uid(metadata.string_at("uid"));
  const auto owned_by_pod = [&](const Json& claim) {
    const JsonArray& owners = claim.part("metadata").items_at("ownerReferences");
    return std::any_of(owners.begin(), owners.end(),
                       [&](const Json& owner) { return owner.string_at("uid") == uid; });
  };
  const std::string base = std::string(metadata.string_at("name")) + "-" + entry_name;
  std::string name = base;
  for (int n = 2; n < kClaimNameTriesMax; ++n) {
    const auto taken = documents_.find({api::Kind::ResourceClaim, {ns, name}});
    if (taken == documents_.end() || owned_by_pod(taken->second)) break;
    name = base + "-" + std::to_string(n);
  }
  const Json& spec = source->second.part("spec");
  Json annotations = Json::object();
  if (const Json& given = spec.part("metadata").part("annotations"); given.is_object()) annotations = given;
  annotations[api::kPodClaimNameAnnotation] = entry_name;
  Json claim_metadata = Json::object({{"name", name},
                                      {"namespace", ns},
                                      {"uid", derived_uid("ResourceClaim " + ns + "/" + name)},
                                      {"resourceVersion", "1"},
                                      {"annotations", std::move(annotations)}});
  if (const Json& labels = spec.part("metadata").part("labels"); labels.is_object())
    claim_metadata["labels"] = labels;
  claim_metadata["ownerReferences"] = Json::array({api::to_json(
      api::OwnerReference{"v1", "Pod", std::string(metadata.string_at("name")), uid, true, true})});
  documents_.try_emplace({api::Kind::ResourceClaim, {ns, name}},
                         Json::object({{"apiVersion", api::ref_of(api::Kind::ResourceClaim).api_version()},
                                       {"kind", "ResourceClaim"},
                                       {"metadata", std::move(claim_metadata)},
                                       {"spec", spec.part("spec")}}));
  Json& statuses = pod["status"]["resourceClaimStatuses"];
  if (!statuses.is_array()) statuses = Json::array();
  statuses.as_array().push_back(Json::object({{"name", entry_name}, {"resourceClaimName", name}}));
}

// The claims of ephemeral volumes, as the controller makes them.
void OfflineCluster::make_volume_claims() {
  std::vector<Json> made;
  for (const auto& [key, object] : documents_)
    if (key.first == api::Kind::Pod)
      for (Json& claim : api::ephemeral_claim_objects(object)) made.push_back(std::move(claim));
  for (Json& claim : made) {
    Json& metadata = claim["metadata"];
    const std::string ns(metadata.string_at("namespace")), name(metadata.string_at("name"));
    metadata["uid"] = derived_uid("PersistentVolumeClaim " + ns + "/" + name);
    metadata["resourceVersion"] = "1";
    documents_.try_emplace({api::Kind::PersistentVolumeClaim, {ns, name}}, std::move(claim));
  }
}

Status OfflineCluster::decode(const dra::DeviceGates& gates) {
  for (auto& [key, object] : documents_) {
    if (key.first == api::Kind::DeviceTaintRule && !gates.device_taints) continue;
    auto raw = std::make_shared<const std::string>(to_string(object));
    object = Json();
    const api::TypedObject typed = TRY(api::decode_typed(key.first, std::move(raw)));
    if (auto delta = view_.put({key.first, key.second.ns, key.second.name, {}}, typed))
      taint_rules_.apply(*delta, cluster_);
  }
  documents_.clear();
  return {};
}

template <class T>
void OfflineCluster::put(api::Kind kind, T object) {
  ++object.meta.resource_version;
  const api::ObjectKey key{kind, object.meta.ns, object.meta.name, {}};
  if (auto delta = view_.put(key, std::make_shared<const T>(std::move(object))))
    taint_rules_.apply(*delta, cluster_);
}

void OfflineCluster::erase(api::Kind kind, const std::string& ns, const std::string& name) {
  if (auto delta = view_.erase({kind, ns, name, {}}, UINT64_MAX)) taint_rules_.apply(*delta, cluster_);
}

OfflineCluster::Evicted OfflineCluster::evict(const client::NamedKey& key) {
  const auto pod = view_.pods.find_shared(key.ns, key.name);
  if (!pod->bound()) {
    for (const api::BindRequest* request : view_.bind_requests_of_pod(key.ns, key.name))
      erase(api::Kind::BindRequest, key.ns, std::string(request->meta.name));
    return Evicted::WaitsAgain;
  }
  for (const api::ResourceClaim* used : view_.claims_reserved_by(pod->meta.uid)) {
    api::ResourceClaim claim = *used;
    std::erase_if(claim.reserved_for,
                  [&](const api::ClaimConsumer& consumer) { return consumer.uid == pod->meta.uid; });
    put(api::Kind::ResourceClaim, std::move(claim));
  }
  erase(api::Kind::Pod, key.ns, key.name);
  return Evicted::Gone;
}

void OfflineCluster::end(const client::NamedKey& key) {
  const auto pod = view_.pods.find_shared(key.ns, key.name);
  std::vector<client::NamedKey> claims;
  for (const api::ResourceClaim* claim : view_.claims_reserved_by(pod->meta.uid))
    claims.push_back({claim->meta.ns, claim->meta.name});
  evict(key);
  for (const client::NamedKey& used : claims)
    if (const api::ResourceClaim* claim = view_.claims.find(used.ns, used.name);
        claim && claim->reserved_for.empty())
      release_claim(used);
  if (!pod->group.empty()) release_group_claims({key.ns, pod->group});
}

void OfflineCluster::release_group_claims(const client::NamedKey& key) {
  const api::PodGroup* group = view_.pod_groups.find(key.ns, key.name);
  if (!group || std::ranges::any_of(view_.pods_of_group(key.ns, key.name),
                                    [](const api::Pod* pod) { return pod->bound() && !pod->finished(); }))
    return;
  std::vector<client::NamedKey> claims;
  for (const api::ResourceClaim* claim : view_.claims_reserved_by(group->meta.uid))
    if (claim->reserved_for.size() == 1) claims.push_back({claim->meta.ns, claim->meta.name});
  for (const client::NamedKey& claim : claims) release_claim(claim);
}

OfflineCluster::Unbound OfflineCluster::unbind(const client::NamedKey& key) {
  api::Pod pod = *view_.pods.find(key.ns, key.name);
  Unbound before{pod, {}, {}};
  for (const api::BindRequest* request : view_.bind_requests_of_pod(key.ns, key.name))
    before.requests.push_back(*request);
  for (const api::ResourceClaim* used : view_.claims_reserved_by(pod.meta.uid))
    before.claims.push_back(*used);
  for (const api::BindRequest& request : before.requests)
    erase(api::Kind::BindRequest, key.ns, request.meta.name);
  for (api::ResourceClaim claim : before.claims) {
    if (claim.meta.name == pod.extended_claim) {
      erase(api::Kind::ResourceClaim, key.ns, claim.meta.name);
      continue;
    }
    std::erase_if(claim.reserved_for,
                  [&](const api::ClaimConsumer& consumer) { return consumer.uid == pod.meta.uid; });
    if (claim.reserved_for.empty()) claim.allocation.reset();
    replace(api::Kind::ResourceClaim, std::move(claim));
  }
  if (const api::GpuSharePtr share = api::gpu_share_of(pod))
    for (const auto& [name, value] : api::gpu_share_annotations(*share)) pod.meta.annotations.erase(name);
  pod.node_name.clear();
  pod.nominated_node.clear();
  pod.extended_claim.clear();
  pod.only_gpu.clear();
  pod.node_allocatable = {};
  replace(api::Kind::Pod, std::move(pod));
  return before;
}

void OfflineCluster::bind_again(const Unbound& unbound) {
  for (const api::ResourceClaim& claim : unbound.claims) replace(api::Kind::ResourceClaim, claim);
  for (const api::BindRequest& request : unbound.requests) replace(api::Kind::BindRequest, request);
  replace(api::Kind::Pod, unbound.pod);
}

void OfflineCluster::release_claim(const client::NamedKey& key) {
  api::ResourceClaim claim = *view_.claims.find(key.ns, key.name);
  const api::OwnerReference* owner = claim.meta.controller();
  if (owner && owner->kind == "Pod" && !view_.pods.find(key.ns, owner->name))
    return erase(api::Kind::ResourceClaim, key.ns, key.name);
  claim.allocation.reset();
  claim.reserved_for.clear();
  put(api::Kind::ResourceClaim, std::move(claim));
}

// The claim that the binder would create, and the entry of the pod's status for it.
api::ResourceClaim OfflineCluster::extended_claim(const api::Pod& pod,
                                                  const model::ClaimChoice& choice) const {
  const std::string name = cluster_.claim_name(pod, choice);
  Json object = api::extended_claim_object(pod.meta, name, *choice.extended);
  object["metadata"]["uid"] = derived_uid("ResourceClaim " + pod.meta.ns + "/" + name);
  object["metadata"]["resourceVersion"] = "1";
  return api::decode_resource_claim(object, std::make_shared<const std::string>(to_string(object)));
}

void OfflineCluster::bind_volume(const std::string& ns, const std::string& node,
                                 const api::VolumeBinding& binding) {
  api::PersistentVolumeClaim claim = *view_.volume_claims.find(ns, binding.claim_name);
  if (binding.volume.empty()) {
    claim.meta.annotations[std::string(api::kSelectedNodeAnnotation)] = node;
  } else {
    api::PersistentVolume volume = *view_.volumes.find("", binding.volume);
    volume.claim_ref = {ns, binding.claim_name, binding.claim_uid};
    put(api::Kind::PersistentVolume, std::move(volume));
    claim.volume_name = binding.volume;
    claim.meta.annotations[std::string(api::kBindCompletedAnnotation)] = "yes";
  }
  put(api::Kind::PersistentVolumeClaim, std::move(claim));
}

void OfflineCluster::bind(const api::Pod& pod, const std::string& node,
                          const model::Reservation& reservation) {
  api::Pod bound = pod;
  for (const model::ClaimChoice& choice : reservation.claims) {
    api::ResourceClaim claim =
        choice.extended ? extended_claim(pod, choice) : *cluster_.claim(choice.claim).live;
    if (!claim.allocation) claim.allocation = *choice.allocation;
    const api::PodGroup* group = view_.pod_groups.find(pod.meta.ns, pod.group);
    const bool shared = group && api::is_claim_of(*group, choice.pod_claim, claim);
    const api::ClaimConsumer consumer = shared ? api::consumer_of(*group) : api::consumer_of(pod.meta);
    if (!claim.reserved_by(consumer.uid)) claim.reserved_for.push_back(consumer);
    if (choice.extended) bound = with_extended_claim(pod, claim.meta.name, *choice.extended);
    put(api::Kind::ResourceClaim, std::move(claim));
  }
  if (reservation.volumes)
    for (const api::VolumeBinding& binding : *reservation.volumes) bind_volume(pod.meta.ns, node, binding);
  if (reservation.gpu_share)
    for (const auto& [key, value] : api::gpu_share_annotations(*reservation.gpu_share))
      bound.meta.annotations[key] = value;
  bound.node_name = node;
  bound.node_allocatable =
      reservation.node_allocatable ? *reservation.node_allocatable : api::NodeAllocatableClaims{};
  put(api::Kind::Pod, std::move(bound));
}

}  // namespace berth::planning
