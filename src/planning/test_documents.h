// Documents of a plan, for tests: from YAML, with their defaults.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/kind_rules.h"
#include "api/type_table.h"
#include "api/yaml.h"
#include "planning/plan.h"

namespace berth::planning {

inline std::vector<Document> documents_of(const std::vector<Json>& objects) {
  std::vector<Document> documents;
  for (const Json& object : objects) {
    const std::string api_version(object.string_at("apiVersion"));
    const std::size_t slash = api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
    const auto* resource = api::find_resource_of_kind(
        group, slash == std::string::npos ? api_version : api_version.substr(slash + 1),
        object.string_at("kind"));
    if (!resource) ADD_FAILURE() << "no kind " << object.string_at("kind");
    Json document = object;
    const api::KindRules& rules = api::rules_of(resource->group, resource->plural);
    if (rules.set_defaults) rules.set_defaults(document);
    documents.push_back({api::kind_of_resource(resource->group, resource->plural), std::move(document)});
  }
  return documents;
}

inline std::vector<Document> documents_of(std::string_view yaml) {
  std::vector<Json> objects;
  const std::vector<api::YamlDocument> parsed = api::parse_yaml_documents(yaml, "test").value();
  for (const api::YamlDocument& document : parsed) objects.push_back(document.value);
  return documents_of(objects);
}

}  // namespace berth::planning
