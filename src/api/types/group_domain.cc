#include "api/types/group_domain.h"

#include <algorithm>

namespace berth::api {
namespace {

std::optional<std::string_view> recorded_value(std::string_view record, std::string_view key) {
  while (!record.empty()) {
    const std::string_view entry = record.substr(0, record.find(','));
    record.remove_prefix(std::min(record.size(), entry.size() + 1));
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=')
      return entry.substr(key.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string record_domain(std::span<const std::string> keys, const StringMap& node_labels) {
  std::string record;
  for (const std::string& key : keys) {
    const auto label = node_labels.find(key);
    if (label == node_labels.end()) return "";
    record.append(record.empty() ? "" : ",").append(key).append("=").append(label->second);
  }
  return record.size() <= kGroupDomainBytesMax ? record : "";
}

std::optional<std::string> recorded_path(std::string_view record, std::span<const std::string> keys) {
  std::string path;
  for (const std::string& key : keys) {
    const std::optional<std::string_view> value = recorded_value(record, key);
    if (!value) return std::nullopt;
    path.append(path.empty() ? "" : "/").append(*value);
  }
  return path;
}

}  // namespace berth::api
