#include "server/served.h"

#include <algorithm>

#include "api/gates.h"
#include "crd/served_version.h"

namespace berth::server {

ServedSet::ServedSet(const api::Gates& gates, ConversionWebhooks* webhooks,
                     std::vector<DefinitionPtr> definitions)
    : gates_(gates), webhooks_(webhooks), definitions_(std::move(definitions)) {
  for (const api::ResourceInfo& row : api::resources())
    if (is_served(row, gates)) rows_.push_back(&row);
  std::vector<const api::ResourceInfo*> custom;
  for (const DefinitionPtr& definition : definitions_) {
    fingerprint_ += definition->uid + "/" + std::to_string(definition->generation) + " ";
    for (const auto& version : definition->versions) custom.push_back(&version->row);
  }
  std::sort(custom.begin(), custom.end(), [](const api::ResourceInfo* a, const api::ResourceInfo* b) {
    if (a->group != b->group) return a->group < b->group;
    if (a->version != b->version) return crd::comes_before(a->version, b->version);
    return a->plural < b->plural;
  });
  rows_.insert(rows_.end(), custom.begin(), custom.end());
}

const api::ResourceInfo* ServedSet::find(std::string_view group, std::string_view version,
                                         std::string_view plural) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const api::ResourceInfo* row) {
    return row->plural == plural && row->group == group && row->version == version;
  });
  return found == rows_.end() ? nullptr : *found;
}

bool ServedSet::has_group(std::string_view group) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [group](const api::ResourceInfo* row) { return row->group == group; });
}

ServedResources::ServedResources(const api::Gates& gates, ConversionWebhooks& webhooks)
    : gates_(gates),
      webhooks_(webhooks),
      now_(std::make_shared<ServedSet>(gates, &webhooks, std::vector<DefinitionPtr>())) {}

ServedPtr ServedResources::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void ServedResources::set(std::vector<DefinitionPtr> definitions) {
  auto next = std::make_shared<const ServedSet>(gates_, &webhooks_, std::move(definitions));
  const std::lock_guard lock(mutex_);
  now_ = std::move(next);
}

}  // namespace berth::server
