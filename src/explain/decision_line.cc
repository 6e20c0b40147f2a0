#include "explain/decision_line.h"

#include "base/json.h"
#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"
#include "placement/refusal/refusal_json.h"

namespace berth::explain {
namespace {

// Of a group: those of the first member that found no node; if it is placed, none.
const placement::Refusal* with_refused_nodes(const placement::Refusal& refusal) {
  if (!refusal.group) return refusal.nodes.reasons.empty() ? nullptr : &refusal;
  if (refusal.result == scheduling::DecisionResult::Placed) return nullptr;
  for (const placement::RefusalPtr& member : refusal.members)
    if (!member->nodes.reasons.empty()) return member.get();
  return nullptr;
}

// Of the first kMembersExplainedMax.
void put_members(Json& line, const std::vector<placement::RefusalPtr>& refused) {
  if (refused.empty()) return;
  JsonArray& members = (line["members"] = Json::array()).as_array();
  for (const placement::RefusalPtr& member : refused) {
    if (members.size() == placement::kMembersExplainedMax) return;
    members.push_back(
        Json::object({{"pod", member->of.name}, {"explanation", placement::explanation_of(*member)}}));
  }
}

}  // namespace

std::string decision_line(const scheduling::DecisionRecord& record) {
  Json line = Json::object({{"id", record.id},
                            {"time", format_micro_time(record.time)},
                            {"kind", name_of(record.kind)},
                            {"namespace", record.ns},
                            {"name", record.name},
                            {"result", name_of(record.result)},
                            {"reason", placement::condition_reason(record.result)},
                            {"message", message_of(record)}});
  if (!record.uid.empty()) line["uid"] = record.uid;
  if (!record.parent.empty()) line["parent"] = record.parent;
  Json& placed = line["placed"] = Json::array();
  for (const scheduling::PlacedPod& pod : record.placed)
    placed.as_array().push_back(Json::object({{"pod", pod.pod}, {"node", pod.node}}));
  if (record.refusal) {
    if (const placement::Refusal* pod = with_refused_nodes(*record.refusal))
      line["refused"] = placement::refused_nodes_json(*pod);
    if (std::string own = placement::explanation_of(*record.refusal); !own.empty())
      line["explanation"] = std::move(own);
    put_members(line, record.refusal->members);
  }
  line["inputsDigest"] = std::to_string(record.inputs_digest);
  return to_string(line) + "\n";
}

std::string sentence_in(const Json& line) {
  std::string message(line.string_at("message"));
  const std::string_view own = line.string_at("explanation");
  if (!own.empty() && message.ends_with(own)) message.resize(message.size() - own.size());
  while (!message.empty() && message.back() == ' ') message.pop_back();
  return message;
}

}  // namespace berth::explain
