#include "simulate/workload_copies.h"

#include <algorithm>
#include <set>

#include "base/assert.h"
#include "planning/workload_pods.h"

namespace berth::simulate {
namespace {

using api::Kind;
using planning::Document;
using NameOfKind = std::tuple<Kind, std::string, std::string>;  // with its namespace

constexpr Kind kCopiedKinds[] = {Kind::Pod, Kind::PodGroup, Kind::CompositePodGroup, Kind::ResourceClaim,
                                 Kind::PersistentVolumeClaim};

// Fields whose text is the name of an object of the same namespace.
struct Reference {
  std::string_view field;
  Kind kind;
};
constexpr Reference kReferences[] = {{"podGroupName", Kind::PodGroup},
                                     {"parentCompositePodGroupName", Kind::CompositePodGroup},
                                     {"resourceClaimName", Kind::ResourceClaim},
                                     {"claimName", Kind::PersistentVolumeClaim}};

bool is_copied(Kind kind) {
  return std::ranges::find(kCopiedKinds, kind) != std::end(kCopiedKinds);
}

std::string prefix_of(std::size_t number) {
  return "copy-" + std::to_string(number) + "-";
}

// Names of one copy, put where the names of another one are.
class Renaming {
 public:
  // `old_prefix`: of the names as they are now.
  Renaming(std::string old_prefix, std::string new_prefix)
      : old_prefix_(std::move(old_prefix)), new_prefix_(std::move(new_prefix)) {}

  void add(const api::ObjectKey& key, std::string_view uid) {
    names_.emplace(key.kind, key.ns, key.name);
    if (!uid.empty()) uids_[std::string(uid)] = uid_of(key.kind, key.ns, key.name);
  }
  bool has(Kind kind, std::string_view ns, std::string_view name) const {
    return names_.contains({kind, std::string(ns), std::string(name)});
  }
  std::string renamed(std::string_view name) const {
    return new_prefix_ + std::string(name.substr(old_prefix_.size()));
  }
  void apply(const api::ObjectKey& key, Json& object) const {
    Json& metadata = object["metadata"];
    metadata["uid"] = uid_of(key.kind, key.ns, key.name);
    metadata["name"] = renamed(key.name);
    visit(object, key.ns);
  }

 private:
  std::string uid_of(Kind kind, const std::string& ns, const std::string& name) const {
    return planning::derived_uid(std::string(api::info_of(kind).name) + " " + ns + "/" + renamed(name));
  }
  void visit(Json& value, const std::string& ns) const {
    if (value.is_array())
      for (Json& item : value.as_array()) visit(item, ns);
    if (!value.is_object()) return;
    for (JsonMember& member : value.as_object()) {
      if (member.key == "ownerReferences" && member.value.is_array())
        for (Json& owner : member.value.as_array()) rename_owner(owner);
      if (member.key == "targetRef") rename_target(member.value, ns);
      const auto* reference = std::ranges::find(kReferences, member.key, &Reference::field);
      if (!member.value.is_string())
        visit(member.value, ns);
      else if (reference != std::end(kReferences) && has(reference->kind, ns, member.value.as_string()))
        member.value = renamed(member.value.as_string());
    }
  }
  void rename_owner(Json& owner) const {
    const auto known = uids_.find(owner.string_at("uid"));
    if (known == uids_.end()) return;
    owner["name"] = renamed(owner.string_at("name"));
    owner["uid"] = known->second;
  }
  void rename_target(Json& target, const std::string& ns) const {
    const std::string_view kind = target.string_at("kind"), name = target.string_at("name");
    if ((kind == "PodGroup" && has(Kind::PodGroup, ns, name)) ||
        (kind == "CompositePodGroup" && has(Kind::CompositePodGroup, ns, name)))
      target["name"] = renamed(name);
  }

  const std::string old_prefix_, new_prefix_;
  std::set<NameOfKind> names_;
  std::map<std::string, std::string, std::less<>> uids_;  // old to new
};

// A claim that is made again from its template.
bool is_made_for_a_pod(const Document& document) {
  return document.kind == Kind::ResourceClaim &&
         std::ranges::any_of(document.object.part("metadata").items_at("ownerReferences"),
                             [](const Json& owner) { return owner.string_at("kind") == "Pod"; });
}

// As it was created, whatever happened since.
void make_new(Document& document) {
  Json& metadata = document.object["metadata"];
  for (const std::string_view field : {"creationTimestamp", "resourceVersion", "deletionTimestamp"})
    metadata.as_object().erase(field);
  document.object.as_object().erase("status");
  Json& spec = document.object["spec"];
  if (document.kind == Kind::PersistentVolumeClaim) spec.as_object().erase("volumeName");
  if (document.kind != Kind::Pod) return;
  spec.as_object().erase("nodeName");
  // Of a group by labels: its name follows the copy's.
  const api::Pod pod = api::decode_pod(document.object, nullptr);
  if (!pod.group.empty()) spec["schedulingGroup"]["podGroupName"] = pod.group;
}

bool is_policy_of(const Renaming& renaming, const Document& document) {
  if (document.kind != Kind::PlacementPolicy) return false;
  const Json& target = document.object.part("spec").part("targetRef");
  const std::string ns = key_of_document(document).ns;
  return renaming.has(Kind::PodGroup, ns, target.string_at("name")) ||
         renaming.has(Kind::CompositePodGroup, ns, target.string_at("name"));
}

}  // namespace

std::vector<Document> first_copy(std::vector<Document> workload, const std::vector<Document>& cluster) {
  std::erase_if(workload, is_made_for_a_pod);
  Renaming renaming("", prefix_of(1));
  for (const Document& document : workload)
    if (is_copied(document.kind))
      renaming.add(key_of_document(document), document.object.part("metadata").string_at("uid"));
  std::set<api::ObjectKey> known;
  for (const Document& document : cluster)
    if (document.kind != Kind::Other) known.insert(key_of_document(document));
  std::vector<Document> copy;
  for (Document& document : workload) {
    const api::ObjectKey key = key_of_document(document);
    const bool renames = is_copied(key.kind) || is_policy_of(renaming, document);
    if (!renames && known.contains(key)) continue;
    if (is_copied(key.kind)) make_new(document);
    if (renames) renaming.apply(key, document.object);
    copy.push_back(std::move(document));
  }
  return copy;
}

WorkloadCopies::WorkloadCopies(const std::vector<StoredObject>& first) {
  const std::string prefix = prefix_of(1);
  for (const StoredObject& stored : first) {
    const bool renames = is_copied(stored.key.kind) || stored.key.kind == Kind::PlacementPolicy;
    if (!renames || !stored.key.name.starts_with(prefix)) {
      once_.push_back(stored);
      continue;
    }
    Result<Json> object = parse_json(*api::raw_of(stored.object));
    BERTH_ASSERT(object.ok(), "the cluster was made from this text");
    originals_.push_back({stored.key, *std::move(object)});
  }
}

std::size_t WorkloadCopies::pods() const {
  return static_cast<std::size_t>(
      std::ranges::count(originals_, Kind::Pod, [](const Original& one) { return one.key.kind; }));
}

std::vector<StoredObject> WorkloadCopies::make(std::size_t number) const {
  Renaming renaming(prefix_of(1), prefix_of(number));
  for (const Original& original : originals_)
    renaming.add(original.key, original.object.part("metadata").string_at("uid"));
  std::vector<StoredObject> copy;
  for (const Original& original : originals_) {
    Json object = original.object;
    renaming.apply(original.key, object);
    api::ObjectKey key = original.key;
    key.name = renaming.renamed(key.name);
    Result<api::TypedObject> typed =
        api::decode_typed(key.kind, std::make_shared<const std::string>(to_string(object)), object);
    BERTH_ASSERT(typed.ok(), "the first copy was decoded");
    copy.push_back({std::move(key), *std::move(typed)});
  }
  return copy;
}

}  // namespace berth::simulate
