#include "cli/what_if_changes.h"

#include <algorithm>
#include <charconv>

#include "api/served_kinds.h"
#include "base/ascii.h"
#include "cli/plan_input.h"

namespace berth::cli {
namespace {

using planning::Change;
using planning::ObjectName;

constexpr std::string_view kChangeForms =
    "use add=FILE, remove=KIND/[NAMESPACE/]NAME, cordon=NODE, scale=KIND/NAMESPACE/NAME:N or preempt=on|off";

Error wrong(const std::string& text, const std::string& why) {
  return Error(ErrorCode::Invalid, "--what-if " + text, why);
}

// One change being read.
struct Reading {
  const std::string& text;
  std::string_view value;  // after "add="
  const api::Gates& gates;
  Time now;
  std::vector<std::string>& warnings;
};

bool is_served_word(const std::string& word, const api::Gates& gates) {
  return std::ranges::any_of(api::resources(), [&](const api::ResourceInfo& row) {
    return api::is_kind_word(row, word) && api::is_served(row, gates);
  });
}

Result<ObjectName> object_name(const Reading& reading, std::string_view value) {
  std::vector<std::string> parts(1);
  for (const char c : value)
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() < 2 || parts.size() > 3 || std::ranges::any_of(parts, &std::string::empty))
    return wrong(reading.text, "names no object: write KIND/NAME or KIND/NAMESPACE/NAME");
  ObjectName name{to_lower(parts.front()), parts.size() == 3 ? parts[1] : "", parts.back()};
  if (!is_served_word(name.kind, reading.gates))
    return wrong(reading.text,
                 "no kind \"" + parts.front() + "\" is served: `kubectl api-resources` lists them");
  return name;
}

Result<Change> read_add(const Reading& reading) {
  if (reading.value.empty()) return wrong(reading.text, "names no file: write add=FILE");
  const ManifestFiles files = TRY(manifest_files({std::string(reading.value)}, FolderDepth::Top));
  std::vector<Manifest> manifests = TRY(read_manifests(files.files, reading.gates));
  PlanInput input = TRY(plan_input(std::move(manifests), reading.gates, reading.now));
  std::ranges::move(input.warnings, std::back_inserter(reading.warnings));
  return Change{reading.text, planning::AddObjects{std::move(input.documents)}};
}

Result<Change> read_remove(const Reading& reading) {
  return Change{reading.text, planning::RemoveObject{TRY(object_name(reading, reading.value))}};
}

Result<Change> read_cordon(const Reading& reading) {
  if (reading.value.empty() || reading.value.find('/') != std::string_view::npos)
    return wrong(reading.text, "names no node: write cordon=NODE");
  return Change{reading.text, planning::CordonNode{std::string(reading.value)}};
}

Result<Change> read_scale(const Reading& reading) {
  const std::size_t colon = reading.value.rfind(':');
  std::int64_t count = -1;
  if (colon != std::string_view::npos) {
    const std::string_view number = reading.value.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc() || end != number.data() + number.size()) count = -1;
  }
  if (count < 0 || count > INT32_MAX)
    return wrong(reading.text, "has no number of pods: write scale=KIND/NAMESPACE/NAME:N, with N from 0 on");
  const ObjectName name = TRY(object_name(reading, reading.value.substr(0, colon)));
  return Change{reading.text, planning::ScaleWorkload{name, count}};
}

Result<Change> read_preempt(const Reading& reading) {
  if (reading.value != "on" && reading.value != "off")
    return wrong(reading.text, "is neither preempt=on nor preempt=off");
  return Change{reading.text, planning::SetPreemption{reading.value == "on"}};
}

struct ChangeWord {
  std::string_view word;
  Result<Change> (*read)(const Reading&);
};
constexpr ChangeWord kWords[] = {{"add", read_add},
                                 {"remove", read_remove},
                                 {"cordon", read_cordon},
                                 {"scale", read_scale},
                                 {"preempt", read_preempt}};

}  // namespace

Result<WhatIfChanges> what_if_changes(const std::vector<std::string>& texts, const api::Gates& gates,
                                      Time now) {
  WhatIfChanges read;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string_view word = std::string_view(text).substr(0, equals);
    const auto row = std::ranges::find(kWords, word, &ChangeWord::word);
    if (equals == std::string::npos || row == std::end(kWords))
      return wrong(text, "is no change: " + std::string(kChangeForms));
    const Reading reading{text, std::string_view(text).substr(equals + 1), gates, now, read.warnings};
    read.changes.push_back(TRY(row->read(reading)));
  }
  return read;
}

}  // namespace berth::cli
