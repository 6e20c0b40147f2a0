#include "cli/cluster_objects.h"

#include <map>
#include <set>

#include "base/hex.h"
#include "client/api_path.h"
#include "scheduling/keepers/owner_reads.h"

namespace berth::cli {
namespace {

std::string page_path(api::Kind kind, std::string_view from) {
  std::string path = client::path_of(api::ref_of(kind)) + "?limit=" + std::to_string(kObjectsOfAPage);
  if (!from.empty()) path += "&continue=" + percent_encoded(from, kPlainInSegment);
  return path;
}

// One kind, from its first page on.
Status read_list(const ClusterReader& read, api::Kind kind, std::vector<planning::Document>& documents) {
  std::string from;
  do {
    const Json page = TRY(read.get(page_path(kind, from)));
    if (read.bytes_read() > kClusterBytesMax)
      return Error(ErrorCode::TooLarge,
                   "the cluster's objects have more than " + std::to_string(kClusterBytesMax >> 20) + " MiB");
    for (const Json& object : page.items_at("items")) {
      documents.push_back({kind, object});
      Json& kept = documents.back().object;
      kept["apiVersion"] = api::ref_of(kind).api_version();  // items of a list have none
      kept["kind"] = api::info_of(kind).name;
      Json& metadata = kept["metadata"];
      if (metadata.is_object()) metadata.as_object().erase("managedFields");
    }
    from = page.part("metadata").string_at("continue");
  } while (!from.empty());
  return {};
}

// Adds the objects above groups that a policy may be about.
class OwnerWalk {
 public:
  OwnerWalk(const ClusterReader& read, std::vector<planning::Document>& documents)
      : read_(read), documents_(documents) {}

  void run() {
    std::set<std::string_view> namespaces;
    for (const planning::Document& one : documents_)
      if (one.kind == api::Kind::PlacementPolicy) namespaces.insert(namespace_of(one.object));
    if (namespaces.empty()) return;
    std::vector<Owner> level;
    for (const planning::Document& one : documents_) {
      if (!namespaces.contains(namespace_of(one.object))) continue;
      std::vector<Owner>& above = above_[name_of(one.object)] = owners_of(one.object);
      if (one.kind != api::Kind::PodGroup && one.kind != api::Kind::CompositePodGroup) continue;
      level.insert(level.end(), above.begin(), above.end());
      const std::string_view workload = one.object.part("spec").part("workloadRef").string_at("workloadName");
      if (!workload.empty())
        level.push_back({std::string(namespace_of(one.object)),
                         {std::string(api::kGroupsApi) + "/v1beta1", "Workload", std::string(workload), ""}});
    }
    for (std::size_t depth = 0; depth < placement::kOwnerLevelsMax && !level.empty(); ++depth)
      level = next(level);
  }

 private:
  struct Owner {
    std::string ns;
    api::OwnerReference object;
  };
  using Name = std::pair<std::string, api::PlacementTarget>;  // with its namespace

  static std::string_view namespace_of(const Json& object) {
    return object.part("metadata").string_at("namespace");
  }
  static Name name_of(const Json& object) {
    return {
        std::string(namespace_of(object)),
        api::target_of({std::string(object.string_at("apiVersion")), std::string(object.string_at("kind")),
                        std::string(object.part("metadata").string_at("name")), ""})};
  }
  static std::vector<Owner> owners_of(const Json& object) {
    std::vector<Owner> owners;
    for (api::OwnerReference& one : api::owners_of_document(object))
      owners.push_back({std::string(namespace_of(object)), std::move(one)});
    return owners;
  }
  // The owners of those that were not met before, which are read where they are not known.
  std::vector<Owner> next(const std::vector<Owner>& level) {
    std::vector<Owner> above;
    for (const Owner& one : level) {
      const Name name{one.ns, api::target_of(one.object)};
      if (!met_.insert(name).second) continue;
      const auto [known, is_new] = above_.try_emplace(name);
      if (is_new) known->second = read(one);
      above.insert(above.end(), known->second.begin(), known->second.end());
    }
    return above;
  }
  std::vector<Owner> read(const Owner& owner) {
    if (++reads_ > kOwnersReadMax) return {};
    const api::ObjectKey key = scheduling::key_of_owner(owner.ns, owner.object);
    Result<Json> object = read_.get(client::path_of(
        {.verb = client::Verb::Get, .resource = key.resource, .ns = key.ns, .name = key.name}));
    if (!object || object->is_null()) return {};
    documents_.push_back({api::Kind::Other, *std::move(object)});
    return owners_of(documents_.back().object);
  }

  const ClusterReader& read_;
  std::vector<planning::Document>& documents_;
  std::map<Name, std::vector<Owner>> above_;
  std::set<Name> met_;  // on the way up
  std::size_t reads_ = 0;
};

}  // namespace

Result<std::vector<planning::Document>> cluster_documents(const ClusterReader& read) {
  std::vector<planning::Document> documents;
  for (std::size_t at = 0; at < api::kTypedKindCount; ++at) {
    const auto kind = static_cast<api::Kind>(at);
    if (kind == api::Kind::Lease) continue;
    const std::size_t before = documents.size();
    Status listed = read_list(read, kind, documents);
    for (std::size_t tries = 1; !listed && listed.error().code() == ErrorCode::Gone; ++tries) {
      if (tries == kListTriesMax) break;
      documents.resize(before);
      listed = read_list(read, kind, documents);
    }
    if (!listed) return listed.error();
  }
  OwnerWalk(read, documents).run();
  return documents;
}

}  // namespace berth::cli
