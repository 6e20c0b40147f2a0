// Claims that the refusal of no single pod deallocates.
#include "binding/claim_deallocator.h"

#include <gtest/gtest.h>

namespace berth::binding {
namespace {

using api::Kind;

constexpr Time kNow = Time::from_seconds(1'000'000);
const api::ObjectKey kClaim{Kind::ResourceClaim, "d", "c", {}};

void put(client::View& view, Kind kind, const std::string& name, const std::string& text) {
  const auto raw = std::make_shared<const std::string>(text);
  static_cast<void>(view.put({kind, "d", name, {}}, *api::decode_typed(kind, raw)));
}

void put_pod(client::View& view, const std::string& name, const std::string& more, int version = 7,
             const std::string& reason = "Unschedulable") {
  put(view, Kind::Pod, name,
      R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
          R"(","resourceVersion":")" + std::to_string(version) + R"("},"spec":{)" + more +
          R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}]},"status":{"conditions":[)"
          R"({"type":"PodScheduled","status":"False","reason":")" +
          reason + R"("}]}})");
}

void put_claim(client::View& view, const std::string& consumers, int version = 9,
               const std::string& more_meta = "") {
  const std::string results = R"({"results":[{"request":"r","driver":"drv","pool":"pool","device":"x"}]})";
  put(view, Kind::ResourceClaim, "c",
      R"({"metadata":{)" + more_meta + R"("namespace":"d","name":"c","uid":"u-c","resourceVersion":")" +
          std::to_string(version) + R"("},"status":{"allocation":{"devices":)" + results +
          R"(},"reservedFor":[)" + consumers + "]}}");
}

const char* const kBoth = R"({"resource":"pods","name":"a","uid":"u-a"},)"
                          R"({"resource":"pods","name":"b","uid":"u-b"})";

void put_claim_of_two_waiting(client::View& view) {
  put_claim(view, kBoth);
  for (const char* pod : {"a", "b"}) put_pod(view, pod, "");
}

TEST(ClaimDeallocator, DeallocatesAClaimOfWaitingPodsAfterTheGrace) {
  client::View view;
  put_claim_of_two_waiting(view);
  const auto idle = make_claim_deallocator();
  EXPECT_EQ(to_text(idle->reconcile(view, kClaim, kNow)), "wake 1970-01-12T13:47:10.000000Z\n");
  EXPECT_EQ(to_text(idle->reconcile(view, kClaim, kNow + kIdleAllocationGrace)),
            "chain ResourceClaim d/c\n  merge-patch resource.k8s.io/v1/resourceclaims d/c/status "
            R"({"status":{"allocation":null,"reservedFor":null,"devices":null},)"
            R"("metadata":{"uid":"u-c","resourceVersion":"9"}})"
            "\n");
}

// The decision for a waiting pod keeps the claim: its BindRequest is in memory, and the pod is bound soon.
TEST(ClaimDeallocator, ADecisionThatKeepsTheClaimStartsTheGraceAgain) {
  client::View view;
  put_claim_of_two_waiting(view);
  const auto idle = make_claim_deallocator();
  static_cast<void>(idle->reconcile(view, kClaim, kNow));
  const Time due = kNow + kIdleAllocationGrace;
  put_claim(view, kBoth, 10, R"("annotations":{"scheduling.berth.dev/kept-for":"d7"},)");
  EXPECT_TRUE(idle->reconcile(view, kClaim, due).chains.empty());
  EXPECT_TRUE(idle->reconcile(view, kClaim, due + kIdleAllocationGrace - Duration::millis(1)).chains.empty());
  EXPECT_EQ(idle->reconcile(view, kClaim, due + kIdleAllocationGrace).chains.size(), 1u);
}

// For example a member of a gang that is too small now: no refusal follows.
TEST(ClaimDeallocator, DeallocatesTheClaimOfAPodWhoseBindingFailed) {
  client::View view;
  put_claim(view, R"({"resource":"pods","name":"a","uid":"u-a"})");
  put_pod(view, "a", "", 7, "SchedulerError");
  const auto idle = make_claim_deallocator();
  static_cast<void>(idle->reconcile(view, kClaim, kNow));
  EXPECT_EQ(idle->reconcile(view, kClaim, kNow + kIdleAllocationGrace).chains.size(), 1u);
}

TEST(ClaimDeallocator, KeepsClaimsInUseOrOfARequest) {
  struct Row {
    const char* what;
    std::function<void(client::View&)> meddle;
  };
  const std::vector<Row> rows = {
      {"a bound consumer", [](auto& view) { put_pod(view, "b", R"("nodeName":"n1",)", 8); }},
      {"a consumer that is not seen",
       [](auto& view) { put_claim(view, R"({"resource":"pods","name":"s","uid":"u-s"})", 10); }},
      {"a bind request under way",
       [](auto& view) {
         put(view, Kind::BindRequest, "a",
             R"({"metadata":{"namespace":"d","name":"a","uid":"b-a"},"spec":{"podName":"a","podUID":"u-a",)"
             R"("selectedNode":"n1","resourceClaimAllocations":[{"name":"c","claimName":"c",)"
             R"("claimUID":"u-c","allocation":{}}]}})");
       }},
  };
  for (const Row& row : rows) {
    client::View view;
    put_claim(view, kBoth);
    put_pod(view, "a", "");
    put_pod(view, "b", "");
    row.meddle(view);
    const auto idle = make_claim_deallocator();
    EXPECT_TRUE(idle->reconcile(view, kClaim, kNow).empty()) << row.what;
    EXPECT_TRUE(idle->reconcile(view, kClaim, kNow + kIdleAllocationGrace).empty()) << row.what;
  }
}

TEST(ClaimDeallocator, DeallocatesAGroupsClaimWhenNoMemberIsPlaced) {
  const char* const consumer =
      R"({"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"u-g"})";
  const std::string member = R"("schedulingGroup":{"podGroupName":"g"},)";
  struct Row {
    const char* what;
    std::string of_a, of_b, reason;
    bool given_up;
  };
  const std::vector<Row> rows = {
      {"all wait", member, member, "Unschedulable", true},
      {"one is bound", member, member + R"("nodeName":"n",)", "Unschedulable", false},
      {"nobody was told", member, member, "SchedulingGated", false},
      {"none is of the group", "", "", "Unschedulable", false}};
  for (const Row& row : rows) {
    client::View view;
    put_claim(view, consumer);
    put_pod(view, "a", row.of_a, 7, row.reason);
    put_pod(view, "b", row.of_b, 8, row.reason);
    const auto idle = make_claim_deallocator();
    static_cast<void>(idle->reconcile(view, kClaim, kNow));
    EXPECT_EQ(idle->reconcile(view, kClaim, kNow + kIdleAllocationGrace).chains.size(),
              row.given_up ? 1u : 0u)
        << row.what;
  }
}

TEST(ClaimDeallocator, TheEndOfAMemberWakesTheGroupsClaim) {
  struct Row {
    const char* what;
    std::string spec, phase;
    bool gone;
    std::size_t keys;
  };
  const std::string member = R"("schedulingGroup":{"podGroupName":"g"},"nodeName":"n",)";
  for (const Row& row :
       {Row{"it runs", member, "Running", false, 0}, Row{"it finished", member, "Failed", false, 1},
        Row{"it is gone", member, "Running", true, 1},
        Row{"one without a group: its entry goes", R"("nodeName":"n",)", "Failed", false, 0}}) {
    client::View view;
    put_claim(view, kBoth);
    const auto raw = std::make_shared<const std::string>(
        R"({"metadata":{"namespace":"d","name":"a","uid":"u-a"},"spec":{)" + row.spec +
        R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}]},"status":{"phase":")" + row.phase +
        "\"}}");
    client::Delta delta{{Kind::Pod, "d", "a", {}}, *api::decode_typed(Kind::Pod, raw), {}};
    if (!row.gone) delta.after = delta.before;
    std::vector<api::ObjectKey> keys;
    for (const client::Interest& interest : make_claim_deallocator()->interests())
      if (interest.kind == Kind::Pod) interest.keys(view, delta, keys);
    EXPECT_EQ(keys.size(), row.keys) << row.what;
  }
}

}  // namespace
}  // namespace berth::binding
