// The API versions and resources that this server serves: those of the type table, by feature gates, and
// custom resources, by their definitions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/served_kinds.h"

namespace berth::crd {
struct Definition;
}

namespace berth::server {

class ConversionWebhooks;
using DefinitionPtr = std::shared_ptr<const crd::Definition>;

// What is served at one moment. Immutable, any thread: a request holds the set that it was routed by. Cost: a
// pointer a row; a search is linear in the rows.
class ServedSet {
 public:
  // `webhooks` (or null: none is called) outlives the set.
  ServedSet(const api::Gates& gates, ConversionWebhooks* webhooks, std::vector<DefinitionPtr> definitions);

  // The table's rows first; custom ones by group, version in order of preference, plural.
  const std::vector<const api::ResourceInfo*>& rows() const { return rows_; }
  const std::vector<DefinitionPtr>& definitions() const { return definitions_; }
  // Null for what is not served.
  const api::ResourceInfo* find(std::string_view group, std::string_view version,
                                std::string_view plural) const;
  bool has_group(std::string_view group) const;
  const api::Gates& gates() const { return gates_; }
  ConversionWebhooks* webhooks() const { return webhooks_; }
  // Another one for other definitions: clients cache documents by it.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  const api::Gates& gates_;
  ConversionWebhooks* const webhooks_;
  const std::vector<DefinitionPtr> definitions_;
  std::vector<const api::ResourceInfo*> rows_;
  std::string fingerprint_;
};
using ServedPtr = std::shared_ptr<const ServedSet>;

// The set of now. Thread-safe: one writer (CustomResources) exchanges it, readers keep what they got.
class ServedResources {
 public:
  // `gates` and `webhooks` outlive it.
  ServedResources(const api::Gates& gates, ConversionWebhooks& webhooks);

  ServedPtr now() const;
  void set(std::vector<DefinitionPtr> definitions);

 private:
  const api::Gates& gates_;
  ConversionWebhooks& webhooks_;
  mutable std::mutex mutex_;
  ServedPtr now_;
};

}  // namespace berth::server
