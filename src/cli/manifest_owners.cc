#include "cli/manifest_owners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "api/served_kinds.h"
#include "cli/manifest_requests.h"

namespace berth::cli {
namespace {

// What a server sets in metadata, and refuses or compares in what it is given.
constexpr std::string_view kServerSet[] = {"uid",
                                           "resourceVersion",
                                           "generation",
                                           "managedFields",
                                           "creationTimestamp",
                                           "selfLink",
                                           "deletionTimestamp",
                                           "deletionGracePeriodSeconds"};
// Labels by which a Job selects its pods: they name its UID.
constexpr std::string_view kUidLabels[] = {"batch.kubernetes.io/controller-uid", "controller-uid"};
// A reference without a UID is complete for a trial.
constexpr std::string_view kNoUid = "00000000-0000-0000-0000-000000000000";

bool is_job(const Manifest& manifest) {
  return manifest.resource->kind == "Job" && manifest.resource->group == "batch";
}

void erase_uid_labels(Json& labels) {
  if (!labels.is_object()) return;
  for (const std::string_view label : kUidLabels) labels.as_object().erase(label);
}

// The selector that a server made for a Job, and the labels of its template, name the UID that it had.
void drop_made_selector(Json& job) {
  const Json& spec = std::as_const(job).part("spec");
  const Json& selected = spec.part("selector").part("matchLabels");
  const bool made = std::any_of(std::begin(kUidLabels), std::end(kUidLabels),
                                [&](std::string_view label) { return selected.find(label) != nullptr; });
  if (!made || spec.bool_at("manualSelector")) return;
  job["spec"].as_object().erase("selector");
  erase_uid_labels(job["metadata"]["labels"]);
  erase_uid_labels(job["spec"]["template"]["metadata"]["labels"]);
}

void drop_server_fields(Manifest& manifest) {
  Json& object = manifest.object;
  if (is_job(manifest)) drop_made_selector(object);
  if (Json* metadata = object.find("metadata"); metadata && metadata->is_object())
    for (const std::string_view field : kServerSet) metadata->as_object().erase(field);
  // By its UID a volume would be taken for one that another claim has left.
  if (manifest.resource->kind == "PersistentVolume" && object.part("spec").part("claimRef").is_object())
    for (const std::string_view field : {"uid", "resourceVersion"})
      object["spec"]["claimRef"].as_object().erase(field);
}

// An object by what stays the same from server to server.
std::optional<store::Key> key_of_owner(const Json& owner, const std::string& ns) {
  const api::ResourceInfo* row =
      api::find_resource_of_kind(owner.string_at("apiVersion"), owner.string_at("kind"));
  if (!row) return std::nullopt;
  return store::Key{api::storage_resource(*row), row->namespaced ? ns : std::string(),
                    std::string(owner.string_at("name"))};
}

bool is_simulated_node(const store::Key& key, std::size_t nodes) {
  constexpr std::string_view kPrefix = "node-";
  if (key.resource != "nodes" || !key.name.starts_with(kPrefix)) return false;
  const std::optional<std::int64_t> n = api::to_int(std::string_view(key.name).substr(kPrefix.size()));
  return n && *n >= 1 && *n <= static_cast<std::int64_t>(nodes);
}

// References of one kind of owner that were dropped.
struct Dropped {
  std::string first;  // the warning about the first
  std::size_t count = 0;
};

class Adoption {
 public:
  Adoption(std::vector<Manifest>& manifests, const store::Store& store, std::size_t nodes)
      : manifests_(manifests), store_(store), nodes_(nodes) {
    for (std::size_t i = 0; i < manifests.size(); ++i) given_.emplace(key_of(manifests[i]), i);
  }

  // Drops references to owners that are nowhere, and notes the others.
  void look(std::size_t index) {
    Manifest& manifest = manifests_[index];
    const JsonArray owners = manifest.object.part("metadata").items_at("ownerReferences");
    if (owners.empty()) return;
    JsonArray kept;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (is_found(owners[i], index))
        kept.push_back(owners[i]);
      else
        note_dropped(manifest, i, owners[i]);
    }
    if (kept.empty())
      manifest.object["metadata"].as_object().erase("ownerReferences");
    else
      manifest.object["metadata"]["ownerReferences"] = std::move(kept);
  }

  // Owners before what they own; else the order stays. A circle ends where it was entered.
  std::vector<Manifest> in_order() {
    std::vector<Manifest> ordered;
    std::vector<bool> placed(manifests_.size());
    for (std::size_t i = 0; i < manifests_.size(); ++i) place(i, placed, ordered);
    return ordered;
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const auto& [kind, dropped] : dropped_)
      texts.push_back(dropped.first + (dropped.count > 1
                                           ? "; the same of " + std::to_string(dropped.count - 1) + " more"
                                           : ""));
    return texts;
  }

 private:
  bool is_found(const Json& owner, std::size_t index) {
    const std::optional<store::Key> key = key_of_owner(owner, namespace_of(manifests_[index]));
    if (!key) return false;
    if (const auto given = given_.find(*key); given != given_.end()) {
      owners_of_[index].push_back(given->second);
      return true;
    }
    return is_simulated_node(*key, nodes_) || store_.get(*key) != nullptr;
  }

  void note_dropped(const Manifest& manifest, std::size_t i, const Json& owner) {
    const std::string kind(owner.string_at("kind"));
    Dropped& dropped = dropped_[kind];
    if (dropped.count++ > 0) return;
    dropped.first = place_of(manifest, "metadata.ownerReferences[" + std::to_string(i) + "]") +
                    ": its owner " + kind + " " + std::string(owner.string_at("name")) +
                    " is neither in the files nor on this server: stored without this owner, for the "
                    "garbage collector would delete it";
  }

  void place(std::size_t index, std::vector<bool>& placed, std::vector<Manifest>& ordered) {
    std::vector<std::pair<std::size_t, std::size_t>> path = {{index, 0}};  // and how many owners are done
    while (!path.empty()) {
      const std::size_t at = path.back().first;
      const std::vector<std::size_t>& owners = owners_of_[at];
      if (path.back().second == 0 && placed[at]) {
        path.pop_back();
        continue;
      }
      placed[at] = true;
      if (path.back().second < owners.size()) {
        const std::size_t owner = owners[path.back().second++];
        if (!placed[owner]) path.push_back({owner, 0});
        continue;
      }
      ordered.push_back(std::move(manifests_[at]));
      path.pop_back();
    }
  }

  std::vector<Manifest>& manifests_;
  const store::Store& store_;
  const std::size_t nodes_;
  std::map<store::Key, std::size_t> given_;
  std::map<std::size_t, std::vector<std::size_t>> owners_of_;
  std::map<std::string, Dropped> dropped_;  // by kind of the owner
};

std::string uid_of_owner(const Json& owner, const std::string& ns, client::ApiClient& client) {
  const api::ResourceInfo* row =
      api::find_resource_of_kind(owner.string_at("apiVersion"), owner.string_at("kind"));
  if (!row) return {};
  return uid_of(client, {std::string(row->group), std::string(row->version), std::string(row->plural)},
                row->namespaced ? ns : "", owner.string_at("name"));
}

}  // namespace

AdoptedManifests adopt_manifests(std::vector<Manifest> manifests, const store::Store& store,
                                 std::size_t nodes) {
  Adoption adoption(manifests, store, nodes);
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    drop_server_fields(manifests[i]);
    adoption.look(i);
  }
  AdoptedManifests adopted{adoption.in_order(), adoption.warnings()};
  return adopted;
}

Json with_owner_uids(const Manifest& manifest, client::ApiClient& client) {
  Json object = manifest.object;
  if (std::as_const(object).part("metadata").items_at("ownerReferences").empty()) return object;
  std::map<std::string, std::string> renamed;
  for (Json& owner : object["metadata"]["ownerReferences"].as_array()) {
    const std::string given(owner.string_at("uid"));
    std::string uid = uid_of_owner(owner, namespace_of(manifest), client);
    if (uid.empty()) uid = given.empty() ? std::string(kNoUid) : given;
    owner["uid"] = uid;
    renamed.emplace(given, uid);
  }
  for (const std::string_view label : kUidLabels) {
    const auto uid = renamed.find(std::string(object.part("metadata").part("labels").string_at(label)));
    if (uid != renamed.end() && !uid->first.empty()) object["metadata"]["labels"][label] = uid->second;
  }
  return object;
}

}  // namespace berth::cli
