#include "explain/decision_line.h"

#include "base/json.h"

namespace berth::explain {

std::string decision_line(const scheduling::DecisionRecord& record) {
  Json line = Json::object({{"id", record.id},
                            {"time", format_micro_time(record.time)},
                            {"kind", name_of(record.kind)},
                            {"namespace", record.ns},
                            {"name", record.name},
                            {"result", name_of(record.result)},
                            {"reason", record.reason},
                            {"message", record.message}});
  if (!record.uid.empty()) line["uid"] = record.uid;
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
  for (const scheduling::ExplainedMember& member : record.members) {
    Json& members = line["members"];
    if (members.is_null()) members = Json::array();
    members.as_array().push_back(Json::object({{"pod", member.pod}, {"explanation", member.explanation}}));
  }
  line["inputsDigest"] = std::to_string(record.inputs_digest);
  return to_string(line) + "\n";
}

}  // namespace berth::explain
