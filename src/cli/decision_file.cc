#include "cli/decision_file.h"

#include "base/json.h"

namespace berth::cli {

Result<std::unique_ptr<DecisionFile>> DecisionFile::open(const std::string& directory) {
  std::unique_ptr<LineFile> file =
      TRY(LineFile::open(directory + "/decisions.jsonl", "decision log", kDecisionFileBytesMax));
  return std::unique_ptr<DecisionFile>(new DecisionFile(std::move(file)));
}

void DecisionFile::append(scheduling::DecisionRecord record) {
  lines_ += decision_line(record);
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
  if (!record.nodes_by_reason.empty()) {
    Json& counts = line["nodesByReason"] = Json::object();
    for (const auto& [reason, count] : record.nodes_by_reason)
      counts[reason] = static_cast<std::int64_t>(count);
  }
  line["inputsDigest"] = std::to_string(record.inputs_digest);
  return to_string(line) + "\n";
}

}  // namespace berth::cli
