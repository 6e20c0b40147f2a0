// A value of a YAML document with its place: reads it strictly, and refuses it by file, line and path.
//
// The text outlives it. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/yaml.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::cli {

// One document of a file.
struct YamlSource {
  std::string_view text;
  std::string_view file;
  int document = 1;

  Error refused(std::string_view path, std::string message) const;
};

class YamlPlace {
 public:
  // `value`: null when absent.
  YamlPlace(const YamlSource& source, std::string path, const Json* value)
      : source_(&source), path_(std::move(path)), value_(value && !value->is_null() ? value : nullptr) {}

  const std::string& path() const { return path_; }
  bool present() const { return value_ != nullptr; }
  const Json& json() const { return *value_; }

  Error refused(std::string message) const { return source_->refused(path_, std::move(message)); }
  // The first of `errors`, whose paths are in the document; success if there is none.
  Status accept(const api::FieldErrors& errors) const;

  // All of these accept an absent value: nothing is below it, and scalars are `otherwise`.
  YamlPlace at(std::string_view key) const;
  Result<std::vector<YamlPlace>> items() const;
  // Refuses what is no map, and members beyond `fields`, which are those of a `what`.
  Status has_only(std::initializer_list<std::string_view> fields, std::string_view what) const;
  Result<std::int64_t> whole(std::int64_t otherwise) const;
  Result<bool> flag(bool otherwise) const;
  Result<std::string> text(std::string_view otherwise) const;
  // As metav1.Duration: "90s".
  Result<Duration> duration(Duration otherwise) const;

 private:
  const YamlSource* source_;
  std::string path_;
  const Json* value_;
};

}  // namespace berth::cli
