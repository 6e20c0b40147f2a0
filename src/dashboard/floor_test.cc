#include "dashboard/floor.h"

#include <gtest/gtest.h>

#include "api/types/node_device_health.h"
#include "base/random.h"
#include "dashboard/frames.h"
#include "dashboard/group_list.h"
#include "dashboard/health_page.h"
#include "dashboard/reservations_page.h"
#include "dashboard/room_page.h"
#include "dashboard/testing/floor_room.h"
#include "health/node_report.h"

namespace berth::dashboard {
namespace {

TEST(Floor, DeviceGoesFromReservedToUsedToFree) {
  FloorRoom room;
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
  FloorRoom room;
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
  const auto since_of_n1 = [&] {
    const Json now = health.page(room.view, room.floor);
    for (const Json& row : now.items_at("nodes"))
      if (row.string_at("node") == "n1") return std::string(row.string_at("since"));
    return std::string("it is well");
  };
  EXPECT_EQ(since_of_n1(), "1970-01-01T00:16:50Z") << "its condition has no time";
  health.note(room.floor, Time::from_seconds(1020));
  EXPECT_EQ(since_of_n1(), "1970-01-01T00:16:50Z");
  room.node("n1", "r1");
  EXPECT_EQ(changes()[0].string_at("condition"), "Healthy");
}

// A node's report, as its agent writes it: the health of gpu-0, gpu-1, ….
Floor::Reports report_of(FloorRoom& room, const std::string& node, std::vector<std::string> healths) {
  std::string list;
  for (std::size_t i = 0; i < healths.size(); ++i)
    list += std::string(i ? "," : "") + R"({"driver":"d","pool":")" + node + R"(","device":"gpu-)" +
            std::to_string(i) + R"(","health":")" + healths[i] +
            R"(","message":"xid 79","since":"2026-01-01T00:00:00Z"})";
  const std::string spec = R"("spec":{"devices":[)" + list + "]}";
  const std::string text = R"({"metadata":{"name":")" + node + R"("},)" + spec + "}";
  room.view.put({api::Kind::Other, "", node, api::node_device_health_resource()},
                *api::decode_typed(api::Kind::Other, std::make_shared<const std::string>(text)));
  return {{node, health::snapshot_of(health::read_report(*parse_json(text)))}};
}

TEST(Floor, ShowsWhatDriversReportOfTheirOwnNodesDevices) {
  FloorRoom room;
  for (const char* node : {"n1", "n2"}) {
    room.node(node, "r1");
    room.slice(node, 3, node == std::string("n1") ? "NoSchedule" : "");
  }
  room.floor.refresh(room.view);
  room.floor.take_changes();
  const Floor::Reports reports = report_of(room, "n1", {"Unhealthy", "Unhealthy", "Unknown", "Unhealthy"});
  EXPECT_TRUE(room.floor.put_reports(reports));
  EXPECT_FALSE(room.floor.put_reports(reports)) << "nothing changed";
  EXPECT_EQ(room.text().at("n1/gpu-0"), "02");
  EXPECT_EQ(room.text().at("n1/gpu-1"), "02");
  EXPECT_EQ(room.text().at("n1/gpu-2"), "03");
  EXPECT_EQ(room.text().at("n2/gpu-0"), "00");
  EXPECT_EQ(room.floor.take_changes().runs.size(), 2u);

  const Json page = HealthPage().page(room.view, room.floor);
  EXPECT_EQ(page.int_at("total"), 3);
  EXPECT_EQ(page.int_at("reportingNodes"), 1);
  const JsonArray& rows = page.items_at("devices");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].string_at("reason"), "taint x:NoSchedule; reported Unhealthy: xid 79");
  EXPECT_EQ(rows[1].string_at("reason"),
            "reported Unhealthy: xid 79; it still takes pods, since no taint keeps them away");
  EXPECT_EQ(rows[1].string_at("since"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(rows[2].string_at("condition"), "Unknown");
  const Json sums = room_page(room.floor);
  EXPECT_EQ(sums.items_at("domains")[0].int_at("out"), 2);
  EXPECT_EQ(sums.items_at("domains")[0].int_at("free"), 4) << "an unknown device takes work";

  const Json frame = runs_json(room.floor.all_runs());
  EXPECT_EQ(frame.as_array()[1].as_array()[2].as_int(), 12) << "free, and unknown";
  room.slice("n2", 4);
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/gpu-2"), "03") << "a new layout keeps the reports";
  EXPECT_TRUE(room.floor.put_reports({})) << "the node's object is gone";
  EXPECT_EQ(room.text().at("n1/gpu-0"), "01");
  EXPECT_EQ(room.text().at("n1/gpu-1"), "00");
}

TEST(Reservations, HaveTheCellsOfTheirDevicesAndNodes) {
  FloorRoom room;
  room.slice("n1", 4);
  room.node("n1", "r1");
  room.put(api::Kind::Node, "", "n2", R"("status":{"allocatable":{"cpu":"8"}})");
  room.floor.refresh(room.view);
  scheduling::HeldRoom gang{.purpose = scheduling::RoomPurpose::Preemption,
                            .owner = {"ns", "gang", placement::EntityKind::Group},
                            .until = Time::from_seconds(1),
                            .node_count = 2,
                            .device_count = 4,
                            .nodes = {"n1", "n2"}};
  for (const char* device : {"gpu-2", "gpu-1", "gpu-1", "gone"}) gang.devices.push_back({"d", "n1", device});
  const Json page = reservations_page({7, {gang}}, room.floor.layout());
  EXPECT_EQ(page.int_at("total"), 7);
  const Json& row = page.items_at("rooms")[0];
  EXPECT_EQ(row.string_at("purpose"), "Preemption");
  EXPECT_EQ(row.string_at("kind"), "PodGroup");
  EXPECT_EQ(row.string_at("until"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(row.int_at("devices"), 4);
  EXPECT_EQ(to_string(row.part("nodes")), R"(["n1","n2"])");
  EXPECT_EQ(to_string(row.part("cells")), "[[1,2],[4,1]]");
}

TEST(Health, NamesPodsThatLeaveForIllness) {
  const auto pod = [](const char* reason) {
    const std::string text =
        R"({"metadata":{"namespace":"ns","name":"p","uid":"p"},"spec":{"nodeName":"n1"},)"
        R"("status":{"conditions":[)" +
        (*reason ? R"({"type":"DisruptionTarget","status":"True","message":"why","reason":")" +
                       std::string(reason) + R"("})"
                 : std::string()) +
        "]}}";
    return api::decode_pod(*parse_json(text), std::make_shared<const std::string>(text));
  };
  HealthPage health;
  const Floor floor;
  const client::View view;
  const auto moved = [&] { return health.page(view, floor).items_at("moved"); };
  health.note_pod(nullptr, pod("DeletionByTaintManager"), Time::from_seconds(1));
  const api::Pod well = pod(""), ill = pod("DeletionByDeviceTaintManager"),
                 preempted = pod("PreemptionByScheduler");
  health.note_pod(&well, preempted, Time::from_seconds(2));
  EXPECT_EQ(moved().size(), 0u) << "it was so before this process watched, or has another cause";
  health.note_pod(&well, ill, Time::from_seconds(3));
  health.note_pod(&ill, ill, Time::from_seconds(4));
  ASSERT_EQ(moved().size(), 1u);
  EXPECT_EQ(moved()[0].string_at("node"), "n1");
  EXPECT_EQ(moved()[0].string_at("message"), "why");
}

TEST(Groups, CountNeighboursInDifferentDomains) {
  FloorRoom room;
  room.topology();
  for (int node = 0; node < 4; ++node) room.node("n" + std::to_string(node), "r" + std::to_string(node / 2));
  room.put(api::Kind::PodGroup, "ns", "g", R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}}})");
  const auto place = [&](std::array<int, 4> nodes) {
    for (int rank = 0; rank < 4; ++rank)
      room.pod("g-" + std::to_string(rank), "n" + std::to_string(nodes[static_cast<std::size_t>(rank)]), "g");
    room.floor.refresh(room.view);
    return groups_page(room.view, room.floor.layout()).items_at("groups")[0].int_at("rankCrossings");
  };
  EXPECT_EQ(place({0, 1, 0, 1}), 0) << "one rack";
  EXPECT_EQ(place({0, 1, 2, 3}), 2) << "the ring closes";
  EXPECT_EQ(place({0, 2, 1, 3}), 4);
}

TEST(Floor, UnitsOfAResourceAreGivenToPodsInTheirOrder) {
  FloorRoom room;
  room.node("n1", "r1");
  room.pod("b", "n1", "", "", 1);
  room.pod("a", "n1", "", "", 1);
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10Pod a");
  EXPECT_EQ(room.text().at("n1/1"), "10Pod b");
}

TEST(Floor, OwnerOfAMemberIsTheRootOfItsTree) {
  FloorRoom room;
  room.node("n1", "r1");
  room.pod("p", "n1", "g", "", 1);
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10PodGroup g");
  room.put(api::Kind::PodGroup, "ns", "g", R"("spec":{"parentCompositePodGroupName":"tree"})");
  room.floor.refresh(room.view);
  EXPECT_EQ(room.text().at("n1/0"), "10CompositePodGroup tree");
}

TEST(FloorLayout, IsMadeAgainForLabelsAndResourcesThatItReads) {
  FloorRoom room;
  room.topology();
  room.node("n1", "r1");
  room.floor.refresh(room.view);
  room.node("n1", "r1", false, true, R"(,"heartbeat":"7","topology.kubernetes.io/zone":"z")");
  EXPECT_FALSE(room.floor.refresh(room.view)) << "the levels have other labels";
  room.node("n1", "r2");
  EXPECT_TRUE(room.floor.refresh(room.view));
  room.erase(api::Kind::Topology, "", "default");
  room.floor.refresh(room.view);
  EXPECT_TRUE(room.floor.layout().levels().empty());
  room.node("n1", "r3");
  EXPECT_FALSE(room.floor.refresh(room.view)) << "no level reads the rack now";
  room.node("n1", "r3", true, false, R"(,"topology.kubernetes.io/zone":"z")");
  EXPECT_TRUE(room.floor.refresh(room.view)) << "zones are a level where there is no Topology";
}

TEST(FloorLayout, NamesAreInTheOrderOfTheirNumbers) {
  EXPECT_TRUE(natural_less("gpu-2", "gpu-10"));
  EXPECT_FALSE(natural_less("gpu-10", "gpu-2"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("rack-9/x", "rack-10/a"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(Room, CountsStrandedDevicesByDomain) {
  FloorRoom room;
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
  EXPECT_EQ(page.items_at("levels")[1].int_at("mostFreeNodes"), 1);
}

TEST(Room, FreeDevicesNextToAClosedOneAreNotStranded) {
  FloorRoom room;
  room.topology();
  room.node("n1", "r1");
  room.slice("n1", 3, "NoSchedule");
  room.floor.refresh(room.view);
  const Json page = room_page(room.floor);
  const Json& rack = page.items_at("domains")[1];
  EXPECT_EQ(rack.int_at("out"), 1);
  EXPECT_EQ(rack.int_at("free"), 2);
  EXPECT_EQ(rack.int_at("stranded"), 0);
  EXPECT_EQ(rack.int_at("freeNodes"), 0);
}

// The deltas of a floor, applied to a copy of its cells, give the floor; and its state is that of a rebuild.
TEST(FloorJudge, AnyHistoryEqualsItsRebuild) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededRandom random(seed);
    FloorRoom room;
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
      ASSERT_EQ(FloorRoom::text_of(rebuilt), room.text()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(Frames, HundredThousandDevicesInGangsAreSmall) {
  FloorRoom room;
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
