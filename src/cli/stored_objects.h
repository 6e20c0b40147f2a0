// Objects of the store as JSON.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace berth::cli {

// All objects of `resource`, such as "nodes" or "priorityclasses.scheduling.k8s.io". Cost: parses each of
// them.
std::vector<Json> stored_objects(const store::Store& store, std::string_view resource);

}  // namespace berth::cli
