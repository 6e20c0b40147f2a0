#include "placement/refusal/refusal_json.h"

namespace berth::placement {

namespace {

Json row_json(const Reason& row, const std::string& text, std::size_t nodes, Json examples) {
  return Json::object({{"plugin", row.plugin},
                       {"id", row.id},
                       {"reason", text},
                       {"nodes", static_cast<std::int64_t>(nodes)},
                       {"examples", std::move(examples)}});
}

}  // namespace

Json refused_nodes_json(const Refusal& pod) {
  Json rows = Json::array();
  const FitError& nodes = pod.nodes;
  if (nodes.everywhere_row)
    rows.as_array().push_back(
        row_json(*nodes.everywhere_row, nodes.everywhere, pod.node_count, Json::array()));
  for (const RefusedFor& refused : nodes.reasons) {
    Json examples = Json::array();
    for (const RefusedNode& node : refused.first) {
      Json& example = examples.as_array().emplace_back(Json::object({{"node", node.name}}));
      if (!node.why.empty()) example["why"] = node.why;
    }
    rows.as_array().push_back(row_json(*refused.row, refused.reason, refused.count, std::move(examples)));
  }
  return rows;
}

}  // namespace berth::placement
