#include "cli/decision_file.h"

#include <cstdio>

#include "base/json.h"

namespace berth::cli {
namespace {

constexpr const char* kFileName = "/decisions.jsonl";

}  // namespace

Result<std::unique_ptr<DecisionFile>> DecisionFile::open(const std::string& directory) {
  std::unique_ptr<LineFile> file =
      TRY(LineFile::open(directory + kFileName, "decision log", kDecisionFileBytesMax));
  return std::unique_ptr<DecisionFile>(new DecisionFile(std::move(file)));
}

std::string DecisionFile::tail(const std::string& directory) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen((directory + kFileName).c_str(), "rbe"), std::fclose);
  if (!file) return {};
  const bool cut = std::fseek(file.get(), -static_cast<long>(kDecisionBytesRead), SEEK_END) == 0;
  if (!cut) std::rewind(file.get());
  std::string text(kDecisionBytesRead, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (cut) text.erase(0, text.find('\n') + 1);
  return text;
}

void DecisionFile::append(std::string_view line) {
  lines_ += line;
  if (lines_.size() >= kDecisionBufferBytesMax) flush();
}

void DecisionFile::flush() {
  if (lines_.empty()) return;
  file_->append(lines_);
  lines_.clear();
}

std::string decision_line(const scheduling::DecisionRecord& record) {
  Json line = Json::object({{"id", record.id},
                            {"time", format_micro_time(record.time)},
                            {"kind", name_of(record.kind)},
                            {"namespace", record.ns},
                            {"name", record.name},
                            {"result", name_of(record.result)},
                            {"reason", record.reason},
                            {"message", record.message}});
  Json& placed = line["placed"] = Json::array();
  for (const scheduling::PlacedPod& pod : record.placed)
    placed.as_array().push_back(Json::object({{"pod", pod.pod}, {"node", pod.node}}));
  for (const scheduling::RefusedNodes& refused : record.refused) {
    Json examples = Json::array();
    for (const auto& [node, why] : refused.examples) {
      Json& example = examples.as_array().emplace_back(Json::object({{"node", node}}));
      if (!why.empty()) example["why"] = why;
    }
    Json& rows = line["refused"];
    if (rows.is_null()) rows = Json::array();
    rows.as_array().push_back(Json::object({{"plugin", refused.plugin},
                                            {"reason", refused.reason},
                                            {"nodes", static_cast<std::int64_t>(refused.count)},
                                            {"examples", std::move(examples)}}));
  }
  if (!record.explanation.empty()) line["explanation"] = record.explanation;
  line["inputsDigest"] = std::to_string(record.inputs_digest);
  return to_string(line) + "\n";
}

}  // namespace berth::cli
