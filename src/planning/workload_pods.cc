#include "planning/workload_pods.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/kind_rules.h"
#include "api/patch.h"
#include "api/type_table.h"
#include "base/fnv.h"
#include "base/name_list.h"
#include "base/random.h"
#include "groups/group_adopter.h"
#include "groups/source.h"
#include "model/replica_selectors.h"
#include "planning/document_removal.h"
#include "workloads/workloads.h"

namespace berth::planning {
namespace {

using api::Kind;
using api::ObjectKey;

// Runs of all controllers together; a workload of many pods needs one for some hundred of them.
constexpr std::size_t kControllerRunsMax = 100'000;
constexpr std::size_t kNamesNotedMax = 4;
// A pod, its ReplicaSet, the Deployment of that.
constexpr int kOwnerDepthMax = 2;
// When pods of StatefulSets are said to have become ready: long enough ago for every minReadySeconds.
constexpr std::string_view kReadySince = "1970-01-01T00:00:01Z";

// Kinds that make pods which a plan does not, their controllers, and why.
struct LeftOut {
  std::string_view group, kind, controller, why;
};
constexpr LeftOut kLeftOut[] = {
    {"batch", "CronJob", "cronjob", "its Jobs are made when their time comes"},
    {"", "ReplicationController", "replicationcontroller", "use a ReplicaSet or a Deployment"},
};

bool is_left_out(const workloads::WorkloadRow& row) {
  constexpr std::string_view kMakesNoPods = "serviceaccount";
  return row.alias == kMakesNoPods ||
         std::any_of(std::begin(kLeftOut), std::end(kLeftOut),
                     [&](const LeftOut& kind) { return kind.controller == row.alias; });
}

std::string_view group_of(const Json& object) {
  const std::string_view version = object.string_at("apiVersion");
  const std::size_t slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
}

bool makes_pods(const Document& document) {
  const std::string_view group = group_of(document.object);
  return document.kind == Kind::Other && (group == "apps" || group == "batch" ||
                                          document.object.string_at("kind") == "ReplicationController");
}

// Kinds that the controllers look at.
bool is_read(Kind kind) {
  return kind == Kind::Pod || kind == Kind::Node || kind == Kind::PodGroup || kind == Kind::Namespace ||
         kind == Kind::CompositePodGroup || kind == Kind::PersistentVolumeClaim || kind == Kind::Other;
}

// The object of a project that groups pods; null for another kind.
const groups::Source* group_source_of(const Json& object) {
  return groups::source_with_kind(object.string_at("apiVersion"), object.string_at("kind"));
}

// Whether a PodGroup may have to be made: for an object, or for the labels of a pod.
bool makes_groups(const Document& document) {
  if (document.kind == Kind::Other) return group_source_of(document.object) != nullptr;
  return document.kind == Kind::Pod && document.object.part("spec").part("schedulingGroup").is_null() &&
         api::labelled_group(api::decode_meta(document.object)).has_value();
}

// No key for a kind that no table has, and without a name.
std::optional<ObjectKey> key_of(Kind kind, const Json& object) {
  const Json& metadata = object.part("metadata");
  ObjectKey key{
      kind, std::string(metadata.string_at("namespace")), std::string(metadata.string_at("name")), {}};
  if (key.name.empty()) return std::nullopt;
  if (kind != Kind::Other) return key;
  if (const groups::Source* source = group_source_of(object)) {
    key.resource = source->resource;
    return key;
  }
  const api::ResourceInfo* row =
      api::find_resource_of_kind(object.string_at("apiVersion"), object.string_at("kind"));
  if (!row) return std::nullopt;
  key.resource = {std::string(row->group), std::string(row->version), std::string(row->plural)};
  return key;
}

// As an API server completes it.
void complete(Kind kind, Json& object) {
  Json& metadata = object["metadata"];
  const api::ResourceInfo* row =
      api::find_resource_of_kind(object.string_at("apiVersion"), object.string_at("kind"));
  const bool namespaced = kind == Kind::Other ? (row && row->namespaced) || group_source_of(object)
                                              : api::info_of(kind).namespaced;
  if (namespaced && metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
  if (!metadata.string_at("uid").empty()) return;
  const std::string_view name = kind == Kind::Other ? object.string_at("kind") : api::info_of(kind).name;
  const std::string_view ns = namespaced ? metadata.string_at("namespace") : "";
  metadata["uid"] = derived_uid(std::string(name) + " " + (ns.empty() ? "" : std::string(ns) + "/") +
                                std::string(metadata.string_at("name")));
}

std::string owner_kind_of(const Json& object) {
  for (const Json& owner : object.part("metadata").items_at("ownerReferences"))
    if (owner.bool_at("controller")) return std::string(owner.string_at("kind"));
  return {};
}

// A StatefulSet makes its next pod when the one before is ready.
void pretend_ready(Json& pod) {
  const std::string_view phase = pod.part("status").string_at("phase");
  if (phase == "Succeeded" || phase == "Failed") return;
  pod["status"]["phase"] = "Running";
  pod["status"]["conditions"] = Json::array(
      {Json::object({{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", kReadySince}})});
}

Error too_many(const ObjectKey& key) {
  return Error(
      ErrorCode::TooLarge, api::to_text(key),
      "wants too many pods: a plan makes at most " + std::to_string(kWorkloadPodsMax) + " of workloads");
}

// Known before a pod is made.
bool wants_too_many(const Json& object) {
  const Json& spec = object.part("spec");
  constexpr auto kMax = static_cast<std::int64_t>(kWorkloadPodsMax);
  return std::max(spec.int_at("replicas"), spec.int_at("parallelism")) > kMax;
}

// The controllers, and the objects as they see them.
class Controllers {
 public:
  explicit Controllers(Time now) : now_(now) {
    for (const workloads::WorkloadRow& row : workloads::workload_rows()) {
      if (is_left_out(row)) continue;
      reconcilers_.push_back(row.make());
      interests_.push_back(reconcilers_.back()->interests());
    }
    reconcilers_.push_back(groups::make_group_adopter({.scheduler_names = {}, .composite_groups = true}));
    interests_.push_back(reconcilers_.back()->interests());
  }

  void put(const ObjectKey& key, Json object) {
    Json& known = objects_[key] = std::move(object);
    known["metadata"]["resourceVersion"] = std::to_string(++version_);
    by_uid_[std::string(known.part("metadata").string_at("uid"))] = key;
    Json shown = known;
    if (key.kind == Kind::Pod && owner_kind_of(shown) == "StatefulSet") pretend_ready(shown);
    const Result<api::TypedObject> typed =
        api::decode_typed(key.kind, std::make_shared<const std::string>(to_string(shown)));
    if (!typed) return;
    if (const auto delta = view_.put(key, *typed)) wake(*delta);
  }

  Status run() {
    for (std::size_t runs = 0; !due_.empty(); ++runs) {
      const auto [reconciler, key] = *due_.begin();
      due_.erase(due_.begin());
      const client::Effects effects = reconcilers_[reconciler]->reconcile(view_, key, now_);
      for (const client::Chain& chain : effects.chains) carry_out(chain);
      if (reconcilers_[reconciler]->name() == groups::kGroupAdopterName) keep_warnings(effects);
      if (pods_made_ > kWorkloadPodsMax || runs > kControllerRunsMax) return too_many(key);
    }
    return {};
  }

  // Pods that the controllers of this object delete are gone.
  void shrink(std::string_view uid) { shrinking_.insert(std::string(uid)); }
  const std::set<ObjectKey>& deleted() const { return deleted_; }

  // In the order of their keys.
  std::vector<Document> made() {
    std::vector<Document> documents;
    for (const ObjectKey& key : made_)
      if (key.kind != Kind::Other || model::ReplicaSelectors::reads(key.resource))
        documents.push_back({key.kind, std::move(objects_[key])});
    return documents;
  }
  // What the group adopter cannot follow, each once.
  const std::set<std::string>& warnings() const { return warnings_; }
  bool has_pods(std::string_view uid) const {
    return std::any_of(objects_.begin(), objects_.end(), [&](const auto& known) {
      if (known.first.kind != Kind::Pod) return false;
      const JsonArray& owners = known.second.part("metadata").items_at("ownerReferences");
      return std::any_of(owners.begin(), owners.end(),
                         [&](const Json& owner) { return owner.string_at("uid") == uid; });
    });
  }

 private:
  void keep_warnings(const client::Effects& effects) {
    for (const client::EventNote& event : effects.events)
      if (event.warning) warnings_.insert(api::to_text(event.regarding) + ", " + event.message);
  }

  void wake(const client::Delta& delta) {
    for (std::size_t i = 0; i < reconcilers_.size(); ++i)
      for (const client::Interest& interest : interests_[i]) {
        if (interest.kind != delta.key.kind || interest.resource != delta.key.resource) continue;
        std::vector<ObjectKey> keys;
        interest.keys(view_, delta, keys);
        for (ObjectKey& key : keys) due_.insert({i, std::move(key)});
      }
  }

  void carry_out(const client::Chain& chain) {
    for (const client::Write& write : chain.writes) {
      const auto known = objects_.find(chain.key);
      const std::string_view uid =
          known == objects_.end() ? "" : known->second.part("metadata").string_at("uid");
      if (write.request.verb == client::Verb::Get && !write.stop_if_uid.empty() && uid == write.stop_if_uid)
        return;
      if (write.request.verb == client::Verb::Create) create(write.request);
      if (write.request.verb == client::Verb::MergePatch) patch(write.request);
      if (write.request.verb == client::Verb::Delete && known != objects_.end()) remove(known->first);
    }
  }

  // Itself, or one of its controllers.
  bool is_shrinking(const Json& object, int depth = 0) const {
    if (shrinking_.contains(object.part("metadata").string_at("uid"))) return true;
    if (depth == kOwnerDepthMax) return false;
    for (const Json& owner : object.part("metadata").items_at("ownerReferences")) {
      if (!owner.bool_at("controller")) continue;
      const auto above = by_uid_.find(owner.string_at("uid"));
      const auto known = above == by_uid_.end() ? objects_.end() : objects_.find(above->second);
      return known != objects_.end() && is_shrinking(known->second, depth + 1);
    }
    return false;
  }

  void remove(ObjectKey gone) {
    if (gone.kind != Kind::Pod || shrinking_.empty() || !is_shrinking(objects_[gone])) return;
    objects_.erase(gone);
    const auto delta = view_.erase(gone, UINT64_MAX);
    if (made_.erase(gone) == 0) deleted_.insert(std::move(gone));
    if (delta) wake(*delta);
  }

  static ObjectKey key_of_request(const client::ApiRequest& request) {
    const Kind kind = api::kind_of_resource(request.resource.group, request.resource.resource);
    ObjectKey key{kind, request.ns, request.name, {}};
    if (kind == Kind::Other) key.resource = request.resource;
    return key;
  }

  void create(const client::ApiRequest& request) {
    Result<Json> object = parse_json(request.body);
    const ObjectKey key = key_of_request(request);
    if (!object || objects_.contains(key)) return;
    complete(key.kind, *object);
    (*object)["metadata"]["creationTimestamp"] = format_time(now_);
    const api::KindRules& rules = api::rules_of(request.resource.group, request.resource.resource);
    if (rules.set_defaults) rules.set_defaults(*object);
    pods_made_ += key.kind == Kind::Pod ? 1 : 0;
    made_.insert(key);
    put(key, std::move(*object));
  }

  void patch(const client::ApiRequest& request) {
    const auto known = objects_.find(key_of_request(request));
    Result<Json> changes = parse_json(request.body);
    if (known == objects_.end() || !changes) return;
    if (Json* metadata = changes->find("metadata")) metadata->as_object().erase("resourceVersion");
    Json patched = api::merge_patched(known->second, *changes);
    // The writes of a run stand on one version: what changes nothing wakes nobody.
    if (patched != known->second) put(known->first, std::move(patched));
  }

  const Time now_;
  std::vector<std::unique_ptr<client::Reconciler>> reconcilers_;
  std::vector<std::vector<client::Interest>> interests_;  // of each
  std::map<ObjectKey, Json> objects_;
  std::map<std::string, ObjectKey, std::less<>> by_uid_;
  client::View view_;
  std::set<std::pair<std::size_t, ObjectKey>> due_;
  std::set<ObjectKey> made_, deleted_;
  std::set<std::string> warnings_;
  std::set<std::string, std::less<>> shrinking_;  // UIDs
  std::size_t pods_made_ = 0;
  std::uint64_t version_ = 0;
};

std::vector<std::string> notes_of(const std::vector<Document>& documents, const Controllers& controllers) {
  std::map<std::string_view, std::vector<std::string>> by_reason;
  for (const Document& document : documents) {
    if (document.kind != Kind::Other) continue;
    const Json &object = document.object, &metadata = object.part("metadata"), &spec = object.part("spec");
    const std::string_view kind = object.string_at("kind"), group = group_of(object);
    const std::string name = std::string(kind) + " " + std::string(metadata.string_at("namespace")) + "/" +
                             std::string(metadata.string_at("name"));
    if (makes_pods(document) && !document.trouble.empty()) {
      by_reason["an API server would refuse it"].push_back(name);
      continue;
    }
    for (const LeftOut& row : kLeftOut)
      if (kind == row.kind && group == row.group) by_reason[row.why].push_back(name);
    if (kind != "Job" || group != "batch" || controllers.has_pods(metadata.string_at("uid"))) continue;
    if (spec.bool_at("suspend")) by_reason["suspended"].push_back(name);
    if (!spec.string_at("managedBy").empty()) by_reason["another controller manages it"].push_back(name);
  }
  std::vector<std::string> notes;
  for (const auto& [why, names] : by_reason)
    notes.push_back("no pods are made for " + first_names(names, kNamesNotedMax) + ": " + std::string(why));
  return notes;
}

}  // namespace

std::string derived_uid(std::string_view text) {
  SeededRandom random(fnv1a(text));
  return random.uuid();
}

Result<WorkloadPods> with_workload_pods(std::vector<Document> documents, Time now) {
  if (std::none_of(documents.begin(), documents.end(),
                   [](const Document& one) { return makes_pods(one) || makes_groups(one); }))
    return WorkloadPods{std::move(documents), {}};
  Controllers controllers(now);
  for (Document& document : documents) {
    if (!is_read(document.kind)) continue;
    complete(document.kind, document.object);
    if (makes_pods(document) && !document.trouble.empty()) continue;
    const std::optional<ObjectKey> key = key_of(document.kind, document.object);
    if (!key) continue;
    if (makes_pods(document) && wants_too_many(document.object)) return too_many(*key);
    if (document.scaled) controllers.shrink(document.object.part("metadata").string_at("uid"));
    controllers.put(*key, document.object);
  }
  TRY(controllers.run());
  WorkloadPods out{std::move(documents), {}};
  remove_objects(out.documents, [&](const Document& document) {
    const std::optional<ObjectKey> key = key_of(document.kind, document.object);
    return key && controllers.deleted().contains(*key);
  });
  out.notes = notes_of(out.documents, controllers);
  out.notes.insert(out.notes.end(), controllers.warnings().begin(), controllers.warnings().end());
  for (Document& made : controllers.made()) out.documents.push_back(std::move(made));
  return out;
}

}  // namespace berth::planning
