// Files of objects for `-f`: read and checked as a whole before any of them is stored.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "api/type_table.h"
#include "base/json.h"
#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

struct Manifest {
  Json object;  // as written, lists taken apart
  const api::ResourceInfo* resource = nullptr;
  std::string file;
  std::shared_ptr<const std::string> text;  // of the whole file
  int document = 1;                         // counted from one
  std::string item;                         // "items[3]" when it stands in a list
};

// "pods.yaml:14: document 2: spec.nodeName: Pod default/web": where the value at `path` stands.
std::string place_of(const Manifest& manifest, std::string_view path);

// Where the store keeps such an object; `resource` is known.
store::Key store_key_of(const Manifest& manifest);

// Every object of the files; a folder stands for its *.yaml, *.yml and *.json, by name. Refuses unreadable
// files, text that is no YAML, kinds that are not served and fields that a kind does not have, each with
// file, document, line and field path. Namespaces come first, then the order of the files.
Result<std::vector<Manifest>> read_manifests(const std::vector<std::string>& paths, const api::Gates& gates);

// Tries all of them on a server of their own in memory, beside the objects in `existing` (namespaces and
// priority classes, which rules read, and what the manifests will change). The first refusal is the error,
// with its place.
Status try_manifests(const std::vector<Manifest>& manifests, const api::Gates& gates,
                     const std::vector<Json>& existing);

// Creates the objects that do not exist; in those that do, sets the members that the manifest names, except
// status. Blocks until every answer is there.
Status store_manifests(const std::vector<Manifest>& manifests, client::ApiClient& client);

}  // namespace berth::cli
