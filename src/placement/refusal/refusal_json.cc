#include "placement/refusal/refusal_json.h"

namespace berth::placement {

Json refused_nodes_json(const FitError& nodes) {
  Json rows = Json::array();
  for (const RefusedFor& refused : nodes.reasons) {
    Json examples = Json::array();
    for (const RefusedNode& node : refused.first) {
      Json& example = examples.as_array().emplace_back(Json::object({{"node", node.name}}));
      if (!node.why.empty()) example["why"] = node.why;
    }
    rows.as_array().push_back(Json::object({{"plugin", refused.row->plugin},
                                            {"reason", refused.reason},
                                            {"nodes", static_cast<std::int64_t>(refused.count)},
                                            {"examples", std::move(examples)}}));
  }
  return rows;
}

}  // namespace berth::placement
