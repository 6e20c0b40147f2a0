#include "dashboard/floor.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "dashboard/frames.h"
#include "dashboard/group_list.h"
#include "dashboard/health_page.h"
#include "dashboard/room_page.h"

namespace berth::dashboard {
namespace {

std::string metadata(std::string_view ns, std::string_view name, std::uint64_t version,
                     std::string_view more = "") {
  std::string text =
      R"("metadata":{"name":")" + std::string(name) + R"(","uid":")" + std::string(name) + R"(",)";
  if (!ns.empty()) text += R"("namespace":")" + std::string(ns) + R"(",)";
  return text + std::string(more) + R"("resourceVersion":")" + std::to_string(version) + R"("})";
}

// A view and a floor that follows it.
struct Room {
  client::View view;
  Floor floor;
  std::uint64_t version = 0;

  void put(api::Kind kind, std::string_view ns, std::string_view name, std::string_view body,
           std::string_view meta = "") {
    const std::string text =
        "{" + metadata(ns, name, ++version, meta) + (body.empty() ? "" : "," + std::string(body)) + "}";
    auto object = api::decode_typed(kind, std::make_shared<const std::string>(text));
    ASSERT_TRUE(object.ok()) << text;
    if (const auto delta = view.put({kind, std::string(ns), std::string(name)}, *object))
      floor.apply(view, *delta);
  }
  void erase(api::Kind kind, std::string_view ns, std::string_view name) {
    if (const auto delta = view.erase({kind, std::string(ns), std::string(name)}, ++version))
      floor.apply(view, *delta);
  }
  void node(const std::string& name, const std::string& rack, bool ready = true, bool cordoned = false) {
    put(api::Kind::Node, "", name,
        std::string(R"("spec":{"unschedulable":)") + (cordoned ? "true" : "false") +
            R"(},"status":{"allocatable":{"cpu":"8","example.com/gpu":"2"},)"
            R"("conditions":[{"type":"Ready","status":")" +
            (ready ? "True" : "False") + R"("}]})",
        R"("labels":{"rack":")" + rack + R"("},)");
  }
  void slice(const std::string& node, int devices, std::string_view taint = "") {
    std::string list;
    for (int i = 0; i < devices; ++i)
      list +=
          std::string(i ? "," : "") + R"({"name":"gpu-)" + std::to_string(i) + R"(")" +
          (taint.empty() || i > 0 ? ""
                                  : R"(,"taints":[{"key":"x","effect":")" + std::string(taint) + R"("}])") +
          "}";
    put(api::Kind::ResourceSlice, "", node + "-slice",
        R"("spec":{"driver":"d","pool":{"name":")" + node +
            R"(","generation":1,"resourceSliceCount":1},"nodeName":")" + node + R"(","devices":[)" + list +
            "]}");
  }
  void pod(const std::string& name, const std::string& node, const std::string& group = "",
           const std::string& claim = "", int units = 0) {
    std::string spec = R"("containers":[{"name":"c","resources":{"requests":{"example.com/gpu":")" +
                       std::to_string(units) + R"("}}}])";
    if (!node.empty()) spec += R"(,"nodeName":")" + node + R"(")";
    if (!group.empty()) spec += R"(,"schedulingGroup":{"podGroupName":")" + group + R"("})";
    if (!claim.empty()) spec += R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim + R"("}])";
    put(api::Kind::Pod, "ns", name, R"("spec":{)" + spec + "}");
  }
  void claim(const std::string& name, const std::string& node, int device, const std::string& pod) {
    std::string status;
    if (device >= 0)
      status = R"("allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":")" + node +
               R"(","device":"gpu-)" + std::to_string(device) + R"("}]}})";
    if (!pod.empty())
      status += std::string(status.empty() ? "" : ",") + R"("reservedFor":[{"resource":"pods","name":")" +
                pod + R"(","uid":")" + pod + R"("}])";
    put(api::Kind::ResourceClaim, "ns", name, R"("status":{)" + status + "}");
  }
  void topology() {
    put(api::Kind::Topology, "", "default", R"("spec":{"levels":[{"name":"rack","nodeLabel":"rack"}]})");
  }
  // By device, what an operator reads.
  std::map<std::string, std::string> text() const { return text_of(floor); }
  static std::map<std::string, std::string> text_of(const Floor& floor) {
    std::map<std::string, std::string> lines;
    for (CellId id = 0; id < floor.cells().size(); ++id) {
      const Cell& cell = floor.cells()[id];
      const Owner& owner = floor.owners().at(cell.owner);
      lines[floor.layout().node_of(id).name + "/" + std::string(floor.layout().name_of(id))] =
          std::to_string(static_cast<int>(cell.use)) + std::to_string(static_cast<int>(cell.condition)) +
          (cell.owner == kNobody ? "" : std::string(name_of(owner.kind)) + " " + owner.name);
    }
    return lines;
  }
};

TEST(Floor, DeviceGoesFromReservedToUsedToFree) {
  Room room;
  room.topology();
  room.node("n1", "r1");
  room.slice("n1", 2);
  room.pod("p", "", "", "c");
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/gpu-0"), "00");
  room.claim("c", "n1", 0, "p");
  EXPECT_EQ(room.text().at("n1/gpu-0"), "30Pod p");
  room.pod("p", "n1", "", "c");
  EXPECT_EQ(room.text().at("n1/gpu-0"), "10Pod p");
  EXPECT_EQ(room.text().at("n1/gpu-1"), "00");
  room.erase(api::Kind::Pod, "ns", "p");
  room.erase(api::Kind::ResourceClaim, "ns", "c");
  EXPECT_EQ(room.text().at("n1/gpu-0"), "00");
}

TEST(Floor, TellsIllAndClosedNodesAndDevices) {
  Room room;
  room.node("n1", "r1", false);
  room.node("n2", "r1", true, true);
  room.node("n3", "r1");
  room.slice("n3", 2, "NoExecute");
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "02");
  EXPECT_EQ(room.text().at("n2/0"), "01");
  EXPECT_EQ(room.text().at("n3/gpu-0"), "02");
  EXPECT_EQ(room.text().at("n3/gpu-1"), "00");
  HealthPage health;
  health.note(room.floor, Time::from_seconds(1000));
  const Json page = health.page(room.view, room.floor);
  EXPECT_EQ(page.items_at("nodes").size(), 2u);
  EXPECT_EQ(page.items_at("devices").size(), 1u);
  EXPECT_EQ(page.items_at("changes").size(), 0u) << "what is ill at the start is no change";
  const auto changes = [&] {
    room.floor.refresh(room.view);
    health.note(room.floor, Time::from_seconds(1010));
    return health.page(room.view, room.floor).items_at("changes");
  };
  room.node("n1", "r1");
  EXPECT_EQ(changes().size(), 0u) << "nor is its recovery";
  room.node("n1", "r1", false);
  ASSERT_EQ(changes().size(), 1u);
  EXPECT_EQ(changes()[0].string_at("what"), "node n1");
  EXPECT_EQ(changes()[0].string_at("condition"), "Ill");
  room.node("n1", "r1");
  EXPECT_EQ(changes()[0].string_at("condition"), "Healthy");
}

TEST(Floor, UnitsOfAResourceAreGivenToPodsInTheirOrder) {
  Room room;
  room.node("n1", "r1");
  room.pod("b", "n1", "", "", 1);
  room.pod("a", "n1", "", "", 1);
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10Pod a");
  EXPECT_EQ(room.text().at("n1/1"), "10Pod b");
}

TEST(Floor, OwnerOfAMemberIsTheRootOfItsTree) {
  Room room;
  room.node("n1", "r1");
  room.pod("p", "n1", "g", "", 1);
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10PodGroup g");
  room.put(api::Kind::PodGroup, "ns", "g", R"("spec":{"parentCompositePodGroupName":"tree"})");
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10CompositePodGroup tree");
}

TEST(FloorLayout, NamesAreInTheOrderOfTheirNumbers) {
  EXPECT_TRUE(natural_less("gpu-2", "gpu-10"));
  EXPECT_FALSE(natural_less("gpu-10", "gpu-2"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("rack-9/x", "rack-10/a"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(Room, CountsStrandedDevicesByDomain) {
  Room room;
  room.topology();
  for (const char* name : {"n1", "n2"}) {
    room.node(name, "r1");
    room.slice(name, 4);
  }
  room.pod("p", "n1", "", "c");
  room.claim("c", "n1", 0, "p");
  room.floor.refresh(room.view);
  const Json page = room_page(room.floor);
  const Json& rack = page.items_at("domains")[1];
  EXPECT_EQ(rack.int_at("devices"), 8);
  EXPECT_EQ(rack.int_at("used"), 1);
  EXPECT_EQ(rack.int_at("free"), 7);
  EXPECT_EQ(rack.int_at("stranded"), 3);
  EXPECT_EQ(page.items_at("levels")[1].int_at("largestWhole"), 4);
}

// The deltas of a floor, applied to a copy of its cells, give the floor; and its state is that of a rebuild.
TEST(FloorJudge, AnyHistoryEqualsItsRebuild) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededRandom random(seed);
    Room room;
    std::vector<Cell> copy;
    for (int step = 0; step < 120; ++step) {
      const std::string node = "n" + std::to_string(random.below(4)),
                        pod = "p" + std::to_string(random.below(6));
      const std::string claim = "c" + std::to_string(random.below(6));
      const std::string group = random.below(2) ? "g" + std::to_string(random.below(2)) : "";
      switch (random.below(11)) {
        case 0:
          room.node(node, "r" + std::to_string(random.below(2)), random.below(4) > 0, random.below(4) == 0);
          break;
        case 1:
          room.slice(node, static_cast<int>(random.below(3)), random.below(3) ? "" : "NoSchedule");
          break;
        case 2:
          room.topology();
          break;
        case 3:
        case 4:
          room.pod(pod, random.below(2) ? node : "", group, random.below(2) ? claim : "",
                   static_cast<int>(random.below(3)));
          break;
        case 5:
        case 6:
          room.claim(claim, node, static_cast<int>(random.below(4)) - 1, random.below(2) ? pod : "");
          break;
        case 7:
          room.erase(api::Kind::Pod, "ns", pod);
          break;
        case 8:
          room.erase(api::Kind::ResourceClaim, "ns", claim);
          break;
        case 9:
          room.put(api::Kind::PodGroup, "ns", "g0",
                   random.below(2) ? R"("spec":{"parentCompositePodGroupName":"t"})" : "");
          break;
        default:
          room.put(api::Kind::DeviceTaintRule, "", "rule",
                   R"("spec":{"deviceSelector":{"driver":"d","device":"gpu-0"},)"
                   R"("taint":{"key":"k","effect":"NoExecute"}})");
          if (random.below(2)) room.erase(api::Kind::DeviceTaintRule, "", "rule");
      }
      if (random.below(3)) continue;
      const bool made = room.floor.refresh(room.view);
      const Floor::Changes changes = room.floor.take_changes();
      if (made) copy = room.floor.cells();
      for (const CellRun& run : changes.runs)
        for (CellId id = run.first; id < run.first + run.count; ++id) copy[id] = run.cell;
      ASSERT_EQ(copy, room.floor.cells()) << "seed " << seed << " step " << step;
      Floor rebuilt;
      rebuilt.refresh(room.view);
      ASSERT_EQ(Room::text_of(rebuilt), room.text()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(Frames, HundredThousandDevicesInGangsAreSmall) {
  Room room;
  room.topology();
  constexpr int kNodes = 1250;
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = "node-" + std::to_string(node);
    room.node(name, "rack-" + std::to_string(node / 18));
    room.slice(name, 8);
  }
  room.floor.refresh(room.view);
  ASSERT_EQ(room.floor.cells().size(), 8u * kNodes);
  EXPECT_LT(floor_frame(room.floor, 1).size() + to_string(room.floor.layout().to_json(1)).size(), 20'000u * 2)
      << "a tenth of 100,000 devices";
}

}  // namespace
}  // namespace berth::dashboard
