#include "cli/cluster_objects.h"

#include "base/hex.h"
#include "client/api_path.h"

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
      Json& metadata = documents.back().object["metadata"];
      if (metadata.is_object()) metadata.as_object().erase("managedFields");
    }
    from = page.part("metadata").string_at("continue");
  } while (!from.empty());
  return {};
}

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
  return documents;
}

}  // namespace berth::cli
