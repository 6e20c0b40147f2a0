#include "cli/yaml_place.h"

#include <algorithm>

namespace berth::cli {
namespace {

std::string kind_of(const Json& value) {
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  return to_string(value);
}

}  // namespace

Error YamlSource::refused(std::string_view path, std::string message) const {
  return Error(ErrorCode::Invalid, api::yaml_position(text, file, document, path), std::move(message));
}

Status YamlPlace::accept(const api::FieldErrors& errors) const {
  if (errors.empty()) return {};
  return source_->refused(errors.front().path, errors.front().body);
}

YamlPlace YamlPlace::at(std::string_view key) const {
  return {*source_, path_.empty() ? std::string(key) : path_ + "." + std::string(key),
          value_ ? value_->find(key) : nullptr};
}

Result<std::vector<YamlPlace>> YamlPlace::items() const {
  std::vector<YamlPlace> all;
  if (!value_) return all;
  if (!value_->is_array()) return refused("wants a list, not " + kind_of(*value_));
  for (const Json& item : value_->as_array())
    all.emplace_back(*source_, path_ + "[" + std::to_string(all.size()) + "]", &item);
  return all;
}

Status YamlPlace::has_only(std::initializer_list<std::string_view> fields, std::string_view what) const {
  if (!value_) return {};
  if (!value_->is_object()) return refused("wants a map of fields, not " + kind_of(*value_));
  for (const JsonMember& member : value_->as_object()) {
    if (std::ranges::find(fields, std::string_view(member.key)) != fields.end()) continue;
    std::string known;
    for (const std::string_view field : fields) known.append(known.empty() ? "" : ", ").append(field);
    return at(member.key).refused("is no field of " + std::string(what) + ", which has " + known);
  }
  return {};
}

Result<std::int64_t> YamlPlace::whole(std::int64_t otherwise) const {
  if (!value_) return otherwise;
  if (!value_->is_int()) return refused("wants a whole number, not " + kind_of(*value_));
  return value_->as_int();
}

Result<bool> YamlPlace::flag(bool otherwise) const {
  if (!value_) return otherwise;
  if (!value_->is_bool()) return refused("wants true or false, not " + kind_of(*value_));
  return value_->as_bool();
}

Result<std::string> YamlPlace::text(std::string_view otherwise) const {
  if (!value_) return std::string(otherwise);
  if (!value_->is_string()) return refused("wants a text, not " + kind_of(*value_));
  return value_->as_string();
}

Result<Duration> YamlPlace::duration(Duration otherwise) const {
  if (!value_) return otherwise;
  const Result<Duration> read =
      value_->is_string() ? parse_duration(value_->as_string()) : Result<Duration>(refused(""));
  if (!read) return refused("wants a duration such as 90s or 1h30m, not " + kind_of(*value_));
  return *read;
}

}  // namespace berth::cli
