// Every object of a cluster that a decision reads, for commands that decide about a live cluster.
//
// Lists are read in pages of kObjectsOfAPage. A list whose version the server has forgotten begins again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planning/plan.h"

namespace berth::cli {

inline constexpr std::size_t kObjectsOfAPage = 500;
inline constexpr std::size_t kClusterBytesMax = 1u << 30;  // of all answers together
inline constexpr std::size_t kListTriesMax = 3;            // of one kind
inline constexpr std::size_t kOwnersReadMax = 1024;        // one by one

struct ClusterReader {
  std::function<Result<Json>(const std::string& path)> get;  // null: not served
  std::function<std::size_t()> bytes_read;                   // by all calls of get
};

// Without managedFields. Where a namespace has PlacementPolicies, the owners of its groups and their owners
// are read as well, whatever their kinds. One that cannot be read counts as without owners, and so do all
// after kOwnersReadMax. Refuses where one of the listed kinds may not be listed, and more than
// kClusterBytesMax.
Result<std::vector<planning::Document>> cluster_documents(const ClusterReader& read);

}  // namespace berth::cli
