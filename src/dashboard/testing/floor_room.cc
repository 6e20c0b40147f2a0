#include "dashboard/testing/floor_room.h"

#include "base/assert.h"

namespace berth::dashboard {
namespace {

std::string metadata_text(std::string_view ns, std::string_view name, std::uint64_t version,
                          std::string_view more) {
  std::string text =
      R"("metadata":{"name":")" + std::string(name) + R"(","uid":")" + std::string(name) + R"(",)";
  if (!ns.empty()) text += R"("namespace":")" + std::string(ns) + R"(",)";
  return text + std::string(more) + R"("resourceVersion":")" + std::to_string(version) + R"("})";
}

}  // namespace

void FloorRoom::put(api::Kind kind, std::string_view ns, std::string_view name, std::string_view body,
                    std::string_view meta) {
  const std::string text =
      "{" + metadata_text(ns, name, ++version, meta) + (body.empty() ? "" : "," + std::string(body)) + "}";
  auto object = api::decode_typed(kind, std::make_shared<const std::string>(text));
  BERTH_ASSERT(object.ok(), "a test's object is valid");
  if (const auto delta = view.put({kind, std::string(ns), std::string(name)}, *object))
    floor.apply(view, *delta);
}

void FloorRoom::erase(api::Kind kind, std::string_view ns, std::string_view name) {
  if (const auto delta = view.erase({kind, std::string(ns), std::string(name)}, ++version))
    floor.apply(view, *delta);
}

void FloorRoom::node(const std::string& name, const std::string& rack, bool ready, bool cordoned,
                     std::string_view labels) {
  put(api::Kind::Node, "", name,
      std::string(R"("spec":{"unschedulable":)") + (cordoned ? "true" : "false") +
          R"(},"status":{"allocatable":{"cpu":"8","example.com/gpu":"2"},)"
          R"("conditions":[{"type":"Ready","status":")" +
          (ready ? "True" : "False") + R"("}]})",
      R"("labels":{"rack":")" + rack + R"(")" + std::string(labels) + "},");
}

void FloorRoom::slice(const std::string& node, int devices, std::string_view taint) {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    list += std::string(i ? "," : "") + R"({"name":"gpu-)" + std::to_string(i) + R"(")";
    if (i == 0 && !taint.empty())
      list += R"(,"taints":[{"key":"x","effect":")" + std::string(taint) + R"("}])";
    list += "}";
  }
  put(api::Kind::ResourceSlice, "", node + "-slice",
      R"("spec":{"driver":"d","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},)" +
          R"("nodeName":")" + node + R"(","devices":[)" + list + "]}");
}

void FloorRoom::pod(const std::string& name, const std::string& node, const std::string& group,
                    const std::string& claim, int units) {
  std::string spec = R"("containers":[{"name":"c","resources":{"requests":{"example.com/gpu":")" +
                     std::to_string(units) + R"("}}}])";
  if (!node.empty()) spec += R"(,"nodeName":")" + node + R"(")";
  if (!group.empty()) spec += R"(,"schedulingGroup":{"podGroupName":")" + group + R"("})";
  if (!claim.empty()) spec += R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim + R"("}])";
  put(api::Kind::Pod, "ns", name, R"("spec":{)" + spec + "}");
}

void FloorRoom::claim(const std::string& name, const std::string& node, int device, const std::string& pod) {
  std::string status;
  if (device >= 0)
    status = R"("allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":")" + node +
             R"(","device":"gpu-)" + std::to_string(device) + R"("}]}})";
  if (!pod.empty())
    status += std::string(status.empty() ? "" : ",") + R"("reservedFor":[{"resource":"pods","name":")" + pod +
              R"(","uid":")" + pod + R"("}])";
  put(api::Kind::ResourceClaim, "ns", name, R"("status":{)" + status + "}");
}

void FloorRoom::topology() {
  put(api::Kind::Topology, "", "default", R"("spec":{"levels":[{"name":"rack","nodeLabel":"rack"}]})");
}

std::string FloorRoom::cell_text(const Cell& cell, const Owner& owner) {
  return std::to_string(static_cast<int>(cell.use)) + std::to_string(static_cast<int>(cell.condition)) +
         (owner.name.empty() ? "" : std::string(name_of(owner.kind)) + " " + owner.name);
}

std::map<std::string, std::string> FloorRoom::text_of(const Floor& floor) {
  std::map<std::string, std::string> lines;
  for (CellId id = 0; id < floor.cells().size(); ++id) {
    const Cell& cell = floor.cells()[id];
    lines[floor.layout().node_of(id).name + "/" + std::string(floor.layout().name_of(id))] =
        cell_text(cell, floor.owners().at(cell.owner));
  }
  return lines;
}

}  // namespace berth::dashboard
