#include "dra/pools/attribute_names.h"

#include <vector>

#include "base/nearest_names.h"

namespace berth::dra {
namespace {

std::string_view id_of(std::string_view name) {
  return name.substr(name.find('/') + 1);
}

}  // namespace

void add_attribute_names(std::set<std::string>& names, std::string_view driver, const api::Device& device) {
  for (const auto& [name, value] : device.attributes) {
    if (names.size() >= kAttributeNamesMax) return;
    names.insert(name.find('/') == std::string::npos ? std::string(driver) + "/" + name : name);
  }
}

std::string nearest_attributes_text(const std::string& attribute, const std::set<std::string>& names) {
  std::vector<std::string> near, ids;
  for (const std::string& name : names)
    if (id_of(name) == id_of(attribute)) near.push_back(name);
  // Domains are long: by id first, so that a slip in a short id is not lost among them.
  if (near.empty())
    for (const std::string& name : names) ids.emplace_back(id_of(name));
  for (const std::string& id : nearest_names(id_of(attribute), ids))
    for (const std::string& name : names)
      if (id_of(name) == id && near.size() < kNearestMax) near.push_back(name);
  std::string text;
  for (const std::string& name : near) text += (text.empty() ? " (nearest: " : ", ") + name;
  return text.empty() ? text : text + ")";
}

}  // namespace berth::dra
