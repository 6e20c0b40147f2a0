#include "model/resources.h"

#include <algorithm>

namespace berth::model {

ResourceNames::ResourceNames() {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "pods"}) names_.intern(name);
}

ResourceAmounts ResourceNames::amounts(const api::ResourceMap& map) {
  ResourceAmounts amounts;
  for (const auto& [name, quantity] : map) {
    const ResourceId resource = names_.intern(name);
    const std::int64_t amount = resource == kCpu ? quantity.ceil_millis() : quantity.ceil_units();
    if (amount != 0) amounts.push_back({resource, amount});
  }
  std::sort(amounts.begin(), amounts.end(),
            [](const ResourceAmount& a, const ResourceAmount& b) { return a.resource < b.resource; });
  return amounts;
}

ResourceRow ResourceNames::row(const api::ResourceMap& map) {
  ResourceRow row;
  for (const ResourceAmount& entry : amounts(map)) {
    if (row.size() <= entry.resource.index()) row.resize(entry.resource.index() + 1);
    row[entry.resource.index()] = entry.amount;
  }
  return row;
}

}  // namespace berth::model
