// YAML text as JSON documents, with kubectl's reading of plain words: `yes`, `on` and `y` are booleans, 0777
// is octal.
//
// Pure, any thread. Cost: one pass; libyaml stays inside yaml.cc. JSON is accepted, being a subset.
// Source: sigs.k8s.io/yaml (YAML 1.1 rules); anchors, aliases and merge keys are expanded within bounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// What the aliases of one text may stand for, in values and in bytes for each byte of the text: what an alias
// bomb runs into.
inline constexpr std::size_t kYamlAliasedNodesMax = 200'000;
inline constexpr std::size_t kYamlAliasedBytesFactor = 16;
inline constexpr std::size_t kYamlDepthMax = 200;

struct YamlDocument {
  Json value;
  int number = 1;  // in the text, counted from one; empty documents count and are left out
  int line = 1;    // where its content begins
  // `line 5: key "name" already set in map`, in order; the last value won.
  std::vector<std::string> duplicate_keys;
};

// How errors count lines. Counted: from one, with the document's number. AsGo: as Go's reader does for the
// same text. It leaves out the first line, and is one line early for what it calls the parser's errors.
enum class YamlLines { Counted, AsGo };

// The documents of `text`. `file` appears only in errors: "pods.yaml: document 2, line 14: did not find …".
Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text, std::string_view file,
                                                       YamlLines lines = YamlLines::Counted);

// The line of the value at `path` ("spec.containers[0].image") in document `number`, or of the innermost
// value around it that exists; 0 when there is no such document. Reads the text again: for error messages.
int yaml_line_of(std::string_view text, int number, std::string_view path);

// "pods.yaml:14: document 2: spec.containers[0].image" for an error at `path`.
std::string yaml_position(std::string_view text, std::string_view file, int number, std::string_view path);

}  // namespace berth::api
