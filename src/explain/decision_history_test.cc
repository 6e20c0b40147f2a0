#include "explain/decision_history.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace berth::explain {
namespace {

using scheduling::DecisionKind;
using scheduling::DecisionRecord;

DecisionRecord decided(const std::string& id, DecisionKind kind, const std::string& name) {
  return {id, Time::from_seconds(1'000'000'000), kind, "ns", name};
}

Json about(const DecisionHistory& history, DecisionKind kind, const std::string& name) {
  return parse_json(history.about(kind, "ns", name)).value();
}

std::vector<std::string> ids(const Json& page) {
  std::vector<std::string> ids;
  for (const Json& decision : page.items_at("decisions")) ids.emplace_back(decision.string_at("id"));
  return ids;
}

using Ids = std::vector<std::string>;

TEST(DecisionHistory, TellsTheDecisionsOfOneTheLatestFirst) {
  DecisionHistory history(nullptr);
  history.append(decided("d1", DecisionKind::Pod, "a"));
  history.append(decided("d2", DecisionKind::Group, "a"));
  history.append(decided("d3", DecisionKind::Pod, "b"));
  history.append(decided("d4", DecisionKind::Pod, "a"));
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), (Ids{"d4", "d1"}));
  EXPECT_EQ(about(history, DecisionKind::Pod, "a").int_at("attempts"), 2);
  EXPECT_EQ(ids(about(history, DecisionKind::Group, "a")), (Ids{"d2"}));
  EXPECT_EQ(to_string(about(history, DecisionKind::Pod, "c")), R"({"decisions":[]})");
}

// Pods of a StatefulSet, of a DaemonSet and of users come again under their names.
TEST(DecisionHistory, CountsNoDecisionAboutAnEarlierObjectOfThatName) {
  DecisionHistory history(nullptr);
  const auto decide = [&](const std::string& id, const std::string& uid) {
    DecisionRecord record = decided(id, DecisionKind::Pod, "a");
    record.uid = uid;
    history.append(std::move(record));
  };
  for (const char* id : {"d1", "d2", "d3"}) decide(id, "first");
  decide("d4", "second");
  decide("d5", "");  // of a process that recorded no UIDs, or a decision taken back
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), (Ids{"d5", "d4"}));
  EXPECT_EQ(about(history, DecisionKind::Pod, "a").int_at("attempts"), 2);
  DecisionHistory later(nullptr);
  DecisionRecord old = decided("d1", DecisionKind::Pod, "a"), recent = decided("d2", DecisionKind::Pod, "a");
  old.uid = "first";
  recent.uid = "second";
  later.remember(decision_line(old) + decision_line(recent));
  EXPECT_EQ(ids(about(later, DecisionKind::Pod, "a")), (Ids{"d2"}));
}

TEST(DecisionHistory, TellsWhatWasSaidOfMembers) {
  DecisionHistory history(nullptr);
  DecisionRecord record = decided("d1", DecisionKind::Group, "g");
  placement::Refusal refusal, a;
  a.of = {"ns", "a", placement::EntityKind::Pod};
  refusal.group.emplace();
  refusal.members = {std::make_shared<placement::Refusal>(a)};
  record.refusal = std::make_shared<placement::Refusal>(refusal);
  history.append(std::move(record));
  EXPECT_EQ(
      to_string(*about(history, DecisionKind::Group, "g").items_at("decisions").front().find("members")),
      R"([{"pod":"a","explanation":"pod ns/a waits: the cluster has no node."}])");
}

TEST(DecisionHistory, KeepsABoundedNumber) {
  DecisionHistory history(nullptr);
  history.append(decided("first", DecisionKind::Pod, "a"));
  for (std::size_t i = 0; i + 1 < kDecisionsKeptMax; ++i)
    history.append(decided("x", DecisionKind::Pod, "b"));
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), (Ids{"first"}));
  EXPECT_EQ(about(history, DecisionKind::Pod, "b").items_at("decisions").size(), kDecisionsAnsweredMax);
  EXPECT_EQ(about(history, DecisionKind::Pod, "b").int_at("attempts"),
            static_cast<std::int64_t>(kDecisionsKeptMax - 1));
  history.append(decided("x", DecisionKind::Pod, "b"));
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), Ids{});
}

TEST(DecisionHistory, KeepsABoundedNumberOfBytes) {
  DecisionHistory history(nullptr);
  history.append(decided("first", DecisionKind::Pod, "a"));
  DecisionRecord gang = decided("gang", DecisionKind::Group, "g");
  for (int i = 0; i < 1000; ++i) gang.placed.push_back({std::string(500, 'p'), std::string(500, 'n')});
  const std::size_t fitting = kDecisionBytesMax / decision_line(gang).size();
  for (std::size_t i = 0; i < fitting; ++i) history.append(gang);
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), (Ids{"first"}));
  history.append(gang);
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), Ids{});
  EXPECT_EQ(about(history, DecisionKind::Group, "g").int_at("attempts"), static_cast<std::int64_t>(fitting));

  gang.placed.assign(1, {std::string(kDecisionBytesMax, 'p'), "n"});
  history.append(gang);
  EXPECT_EQ(about(history, DecisionKind::Group, "g").int_at("attempts"), 1) << "the latest is kept";
}

TEST(DecisionHistory, ForgetsAGateOnceItIsDecided) {
  DecisionHistory history(nullptr);
  const Time first = Time::from_seconds(1'000'000'000);
  using placement::PodGate;
  history.gated({first, DecisionKind::Pod, "ns", "a", PodGate{PodGate::Kind::ClaimMissing, "x"}});
  history.gated({first + Duration::seconds(9), DecisionKind::Pod, "ns", "a",
                 PodGate{PodGate::Kind::ClaimMissing, "y"}});
  const Json gate = about(history, DecisionKind::Pod, "a").part("gate");
  EXPECT_EQ(to_string(gate), R"({"time":"2001-09-09T01:46:40.000000Z","why":"waits for ResourceClaim y"})");
  history.append(decided("d1", DecisionKind::Pod, "a"));
  EXPECT_TRUE(about(history, DecisionKind::Pod, "a").part("gate").is_null());
}

TEST(DecisionHistory, RemembersAnEarlierProcess) {
  std::string log = decision_line(decided("d1", DecisionKind::Pod, "a"));
  log += "torn {\n" + decision_line(decided("d2", DecisionKind::Pod, "a")) + "{\"half\":";
  DecisionHistory history(nullptr);
  history.append(decided("d3", DecisionKind::Pod, "a"));
  history.remember(log);
  EXPECT_EQ(ids(about(history, DecisionKind::Pod, "a")), (Ids{"d3", "d2", "d1"}));
}

TEST(DecisionHistory, HasAPageForEachPodAndGroup) {
  DecisionHistory history(nullptr);
  history.append(decided("d1", DecisionKind::Group, "g"));
  EXPECT_EQ(decision_path(DecisionKind::Pod, "ns", "g"), "/berth/v1alpha1/decisions/pods/ns/g");
  const auto page = [&](DecisionKind kind) {
    return parse_json(decision_page(history, decision_path(kind, "ns", "g")).value()).value();
  };
  EXPECT_EQ(ids(page(DecisionKind::Group)), (Ids{"d1"}));
  EXPECT_EQ(ids(page(DecisionKind::Pod)), Ids{});
  for (const char* path : {"/metrics", "/berth/v1alpha1/decisions/", "/berth/v1alpha1/decisions/nodes/a/b",
                           "/berth/v1alpha1/decisions/pods/ns", "/berth/v1alpha1/decisions/pods/ns/"})
    EXPECT_FALSE(decision_page(history, path).has_value()) << path;
}

}  // namespace
}  // namespace berth::explain
