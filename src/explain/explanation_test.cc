#include "explain/explanation.h"

#include <gtest/gtest.h>

#include "explain/start_waits.h"

namespace berth::explain {
namespace {

Json json_of(std::string_view text) {
  Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return std::move(json).value();
}

const Time kNow = parse_time("2026-01-01T00:01:40Z").value();

constexpr const char* kPod = R"({"metadata":{"name":"p","namespace":"ns","uid":"12345678-0",)"
                             R"("creationTimestamp":"2026-01-01T00:00:00Z"},)"
                             R"("spec":{"schedulerName":"berth"},"status":{"phase":"Pending"}})";
constexpr const char* kRefused =
    R"({"attempts":3,"decisions":[{"id":"d3","time":"2026-01-01T00:01:30.250000Z","kind":"Pod","result":)"
    R"("Unschedulable","reason":"Unschedulable","message":"0/5 nodes are available: 5 x. Ours.","placed":[],)"
    R"("explanation":"Ours.","refused":[{"plugin":"DynamicResources","reason":"cannot allocate all claims",)"
    R"("nodes":5,"examples":[{"node":"n1","why":"gpu-0 is taken"},{"node":"n2"},{"node":"n3"}]}]},)"
    R"({"id":"d2","time":"2026-01-01T00:01:00.000000Z","result":"Unschedulable","message":"m",)"
    R"("placed":[]}]})";

PodFacts facts_of(std::string_view record) {
  PodFacts facts;
  facts.pod = json_of(kPod);
  facts.record = record.empty() ? Json() : json_of(record);
  return facts;
}

Json placed_request(std::string_view status) {
  return json_of(
      R"({"metadata":{"name":"p-12345678","namespace":"ns",)"
      R"("creationTimestamp":"2026-01-01T00:00:02Z"},"spec":)"
      R"({"podName":"p","podUID":"12345678-0","selectedNode":"n1","decisionID":"d1",)"
      R"("resourceClaimAllocations":)"
      R"([{"name":"g","claimName":"c","claimUID":"u","allocation":{"devices":{"results":[{"request":"r",)"
      R"("driver":"d","pool":"po","device":"gpu-1","shareID":"s",)"
      R"("consumedCapacity":{"memory":"10Gi"}}]}}}]},)"
      R"("status":)" +
      std::string(status) + "}");
}

constexpr const char* kPlaced =
    R"({"attempts":1,"decisions":[{"id":"d2","time":"2026-01-01T00:00:09.000000Z","result":"Undone",)"
    R"("message":"","placed":[]},{"id":"d1","time":"2026-01-01T00:00:01.500000Z","result":"Placed",)"
    R"("reason":"Scheduled","message":"","placed":[{"pod":"p","node":"n1"}]}]})";

TEST(Explanation, OfARefusedPodNamesPluginsNodesAndProof) {
  const Json json = explain_pod(facts_of(kRefused), kNow);
  EXPECT_EQ(json.string_at("state"), "Unschedulable");
  EXPECT_EQ(json.string_at("summary"), "waits: no node takes it, decided 9s ago");
  EXPECT_EQ(json.part("decision").string_at("sentence"), "0/5 nodes are available: 5 x.");
  EXPECT_EQ(json.part("decision").string_at("explanation"), "Ours.");
  EXPECT_EQ(explanation_text(json, Detail::Table, Colour::No), R"(Pod ns/p   Unschedulable
  waits: no node takes it, decided 9s ago

DECISION  Unschedulable
  d3 at 2026-01-01T00:01:30.250000Z, attempt 3
  In Kubernetes' words:
    0/5 nodes are available: 5 x.
  In words:
    Ours.

NODES REFUSED
  PLUGIN             NODES   REASON                       EXAMPLES
  DynamicResources   5       cannot allocate all claims   n1, n2, n3 and 2 more
  Missing there:
    n1: gpu-0 is taken

STEPS
  STEP      AT (UTC)       AFTER
  created   00:00:00       -
  decided   00:01:30.250   90s
)");
  const std::string wide = explanation_text(json, Detail::Wide, Colour::Yes);
  EXPECT_NE(wide.find("EARLIER"), std::string::npos);
  EXPECT_NE(wide.find("\033[33mUnschedulable\033[0m"), std::string::npos);
}

TEST(Explanation, SaysWhatAPodWaitsFor) {
  struct Case {
    const char* record;
    const char* state;
    const char* summary;
  };
  for (const Case& one : std::vector<Case>{
           {R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"waits for ResourceClaim x"}})",
            "Gated", "is not tried yet, for 40s so far: waits for ResourceClaim x"},
           {R"({"decisions":[]})", "Pending",
            "waits, and no decision about it is on record: its scheduler is berth, which this scheduler may "
            "not "
            "serve"},
           {"", "Pending",
            "waits, its scheduler is berth; the scheduler's record is not served here: name the scheduler's "
            "own "
            "address (its --listen) with --server"},
           {R"({"decisions":[{"id":"d","time":"2026-01-01T00:01:00Z","result":"Error","message":"m"}]})",
            "Error", "waits: the attempt ended with an error, decided 40s ago"},
           {R"({"decisions":[{"id":"d","time":"2026-01-01T00:01:00Z","result":"Placed","message":""}]})",
            "Placing", "has a place, which is being written, decided 40s ago"},
       }) {
    const Json json = explain_pod(facts_of(one.record), kNow);
    EXPECT_EQ(json.string_at("state"), one.state);
    EXPECT_EQ(json.string_at("summary"), one.summary);
  }
}

TEST(Explanation, OfAPlacedPodTellsHowFarTheBinderIs) {
  struct Case {
    const char* status;
    const char* state;
    const char* summary;
  };
  for (const Case& one : std::vector<Case>{
           {"{}", "Binding", "is placed on n1; the binder is at work"},
           {R"({"phase":"Pending","step":"WaitingForGang"})", "WaitingForGang",
            "is placed on n1; the binder waits until every member of its gang can be bound"},
           {R"({"phase":"Pending","step":"WaitingForVolumes","message":"waiting for a volume"})",
            "WaitingForVolumes", "is placed on n1; the binder is waiting for a volume"},
           {R"({"phase":"Pending","message":"attempt 1 failed: m","nextAttemptTime":"2026-01-01T00:02:00Z"})",
            "Binding", "is placed on n1; attempt 1 failed: m; the next attempt is at 2026-01-01T00:02:00Z"},
           {R"({"phase":"Pending","step":"RollingBack","message":"m"})", "RollingBack",
            "is placed on n1, but could not be bound, and what it held is given back: m"},
           {R"({"phase":"Failed","step":"RolledBack","message":"m"})", "BindingFailed",
            "is placed on n1, but could not be bound: m"},
       }) {
    PodFacts facts = facts_of(kPlaced);
    facts.bind_request = placed_request(one.status);
    const Json json = explain_pod(facts, kNow);
    EXPECT_EQ(json.string_at("state"), one.state);
    EXPECT_EQ(json.string_at("summary"), one.summary);
    EXPECT_EQ(json.part("decision").string_at("id"), "d1") << "the one that the request carries out";
    EXPECT_EQ(to_string(json.items_at("devices").front()),
              R"({"claim":"c","request":"r","driver":"d","pool":"po","device":"gpu-1","shareID":"s",)"
              R"("consumedCapacity":{"memory":"10Gi"}})");
  }
}

// A bind request lives as long as its pod: that one failed once is not why the pod waits now.
TEST(Explanation, AFailedBindingIsHistoryOnceTheSchedulerDecidedAgain) {
  struct Case {
    const char* newer;  // the decisions after d1, the latest first
    const char* gate;
    const char* state;
    const char* summary;
  };
  const std::string d1 = R"({"id":"d1","time":"2026-01-01T00:00:01.500000Z","result":"Placed","message":"",)"
                         R"("placed":[{"pod":"p","node":"n1"}]})";
  for (const Case& one : std::vector<Case>{
           {"", "", "BindingFailed", "is placed on n1, but could not be bound: the card refused"},
           {R"({"id":"d2","time":"2026-01-01T00:01:30Z","result":"Unschedulable","message":"0/1 x."},)", "",
            "Unschedulable", "waits: no node takes it, decided 10s ago"},
           {R"({"id":"d2","time":"2026-01-01T00:01:30Z","result":"Error","message":"m"},)", "", "Error",
            "waits: the attempt ended with an error, decided 10s ago"},
           {R"({"id":"d2","time":"2026-01-01T00:01:30Z","result":"Placed","message":""},)", "", "Placing",
            "has a place, which is being written, decided 10s ago"},
           {"", R"(,"gate":{"time":"2026-01-01T00:01:00Z","why":"waits for ResourceClaim x"})", "Gated",
            "is not tried yet, for 40s so far: waits for ResourceClaim x"},
       }) {
    PodFacts facts = facts_of(R"({"attempts":2,"decisions":[)" + (one.newer + d1) + "]" + one.gate + "}");
    facts.bind_request =
        placed_request(R"({"phase":"Failed","step":"RolledBack","message":"the card refused"})");
    facts.bind_request["spec"]["receivedGPU"] = json_of(R"({"count":1,"portion":"0.50"})");
    facts.bind_request["spec"]["selectedGPUGroups"] = json_of(R"(["gpu-0"])");
    const Json json = explain_pod(facts, kNow);
    EXPECT_EQ(json.string_at("state"), one.state);
    EXPECT_EQ(json.string_at("summary"), one.summary);
    const bool fails = json.string_at("state") == "BindingFailed";
    for (const char* field : {"node", "bindRequest", "devices", "gpuShare"})
      EXPECT_EQ(json.find(field) != nullptr, fails) << one.state << ": " << field;
    if (fails) continue;
    const Json& row = json.items_at("history").back();
    EXPECT_EQ(row.string_at("said"), "on n1, but could not be bound: the card refused");
    EXPECT_EQ(row.part("bindRequest").string_at("phase"), "Failed");
    const std::string text = explanation_text(json, Detail::Table, Colour::No);
    EXPECT_NE(text.find("EARLIER\n"), std::string::npos) << text;
    EXPECT_NE(text.find("on n1, but could not be bound: the card refused"), std::string::npos) << text;
  }
}

TEST(Explanation, AFailedBindingWhoseDecisionIsForgottenIsHistoryToo) {
  PodFacts facts = facts_of(kRefused);
  facts.bind_request = placed_request(R"({"phase":"Failed","step":"RolledBack","message":"m"})");
  const Json json = explain_pod(facts, kNow);
  EXPECT_EQ(json.string_at("state"), "Unschedulable");
  EXPECT_EQ(json.items_at("history").back().string_at("id"), "d1");
  PodFacts member = facts;
  member.pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", "g"}});
  member.group_record = member.record;
  EXPECT_EQ(explain_pod(member, kNow).string_at("state"), "Unschedulable") << "of a gang as well";
}

// Without a record the events say that the pod was tried again.
TEST(Explanation, AFailedBindingIsHistoryOnceANewerEventTellsOfThePod) {
  PodFacts facts = facts_of("");
  facts.bind_request = placed_request(
      R"({"phase":"Failed","step":"RolledBack","message":"m","conditions":[{"type":"Bound","status":"False",)"
      R"("reason":"Failed","lastTransitionTime":"2026-01-01T00:00:30Z"}]})");
  facts.pod["status"]["conditions"] =
      json_of(R"([{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 x."}])");
  const auto state_with_event_at = [&](const char* time) {
    facts.events = json_of(std::string(R"({"items":[{"involvedObject":{"uid":"12345678-0"},)") +
                           R"("message":"0/1 x. Ours.","lastTimestamp":")" + time + R"("}]})");
    return std::string(explain_pod(facts, kNow).string_at("state"));
  };
  EXPECT_EQ(state_with_event_at("2026-01-01T00:00:20Z"), "BindingFailed");
  EXPECT_EQ(state_with_event_at("2026-01-01T00:00:40Z"), "Unschedulable");
}

TEST(Explanation, TellsNoDecisionAboutAnEarlierPodOfThatName) {
  PodFacts facts = facts_of(
      R"({"attempts":16,"decisions":[{"id":"d9","time":"2026-01-01T00:00:05Z","result":"Unschedulable",)"
      R"("message":"m","uid":"another"}]})");
  EXPECT_EQ(explain_pod(facts, kNow).string_at("state"), "Pending");
  EXPECT_EQ(explain_pod(facts, kNow).find("decision"), nullptr);
  // Lines of an earlier version name no UID.
  facts.record = json_of(
      R"({"attempts":16,"decisions":[{"id":"d9","time":"2026-01-01T00:00:05Z","result":"Unschedulable",)"
      R"("message":"m"},{"id":"d8","time":"2025-12-31T23:59:00Z","result":"Error","message":"m"}]})");
  const Json json = explain_pod(facts, kNow);
  EXPECT_EQ(json.part("decision").string_at("id"), "d9");
  EXPECT_EQ(json.part("decision").int_at("attempts"), 1);
}

TEST(Explanation, AMemberThatFitsIsNotToldThatNoNodeTakesIt) {
  PodFacts facts = facts_of("");
  facts.pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", "g"}});
  facts.record = json_of(R"({"decisions":[]})");
  facts.group_record =
      json_of(R"({"decisions":[{"id":"d","time":"2026-01-01T00:01:30Z","result":"Unschedulable",)"
              R"("message":"m","members":[{"pod":"q","explanation":"Of q."}]}]})");
  EXPECT_EQ(explain_pod(facts, kNow).string_at("summary"),
            "waits: its group g was not placed, decided 10s ago");
  facts.pod["metadata"]["name"] = "q";
  EXPECT_EQ(explain_pod(facts, kNow).string_at("summary"),
            "waits: no node takes it, and its group g was not placed, decided 10s ago");
}

TEST(Explanation, WritesOutEscapeCodes) {
  PodFacts facts = facts_of(kRefused);
  facts.record["decisions"].as_array().front()["explanation"] = "class \x1b[2J\x1b[31mx";
  const Json json = explain_pod(facts, kNow);
  const std::string text = explanation_text(json, Detail::Wide, Colour::No);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_NE(text.find("class \\x1b[2J\\x1b[31mx"), std::string::npos) << text;
}

TEST(Explanation, ShowsTheShareOfGpusThatWasDecidedOrThatTheBoundPodHas) {
  PodFacts facts = facts_of(kPlaced);
  facts.bind_request = placed_request(R"({"phase":"Pending"})");
  EXPECT_EQ(explain_pod(facts, kNow).find("gpuShare"), nullptr);
  facts.bind_request["spec"]["selectedGPUGroups"] = json_of(R"(["gpu-0","gpu-2"])");
  facts.bind_request["spec"]["receivedGPU"] = json_of(R"({"count":2,"portion":"0.50"})");
  const Json decided = explain_pod(facts, kNow);
  EXPECT_EQ(to_string(decided.part("gpuShare")), R"({"groups":["gpu-0","gpu-2"],"portion":"0.50"})");
  EXPECT_NE(explanation_text(decided, Detail::Table, Colour::No).find("0.50 of gpu-0, gpu-2"),
            std::string::npos);
  facts.pod["spec"]["nodeName"] = "n1";
  facts.pod["metadata"]["annotations"] =
      json_of(R"({"gpu-fraction":"0.25","scheduling.berth.dev/gpu-groups":"gpu-1",)"
              R"("scheduling.berth.dev/gpu-portion":"0.25"})");
  EXPECT_EQ(to_string(explain_pod(facts, kNow).part("gpuShare")), R"({"groups":["gpu-1"],"portion":"0.25"})");
  facts.pod["metadata"]["annotations"].as_object().erase("gpu-fraction");
  facts.pod["metadata"]["annotations"]["gpu-memory"] = "2000";
  EXPECT_NE(explanation_text(explain_pod(facts, kNow), Detail::Table, Colour::No)
                .find("0.25 of gpu-1 (2000 MiB of each asked for, rounded up to hundredths)"),
            std::string::npos);
}

TEST(Explanation, ShowsTheHealthOfDevicesAndWhoTaintsThem) {
  PodFacts facts = facts_of(kPlaced);
  facts.bind_request = placed_request(R"({"phase":"Succeeded"})");
  EXPECT_FALSE(has_unhealthy_device(facts));
  facts.pod["status"]["containerStatuses"] =
      json_of(R"([{"name":"c","allocatedResourcesStatus":[{"name":"claim:g","resources":[)"
              R"({"resourceID":"d/po/gpu-1","health":"Unhealthy","message":"xid 79"}]}]}])");
  EXPECT_TRUE(has_unhealthy_device(facts));
  facts.taint_rules = json_of(
      R"({"items":[{"metadata":{"name":"other"},"spec":{"deviceSelector":{"driver":"d","device":"gpu-2"}}},)"
      R"({"metadata":{"name":"device-health-1",)"
      R"("annotations":{"berth.dev/cause":"DeviceHealthPolicy sick: x"}},)"
      R"("spec":{"deviceSelector":{"driver":"d","pool":"po","device":"gpu-1"},)"
      R"("taint":{"key":"berth.dev/device-health","effect":"NoExecute"}}}]})");
  const std::string text = explanation_text(explain_pod(facts, kNow), Detail::Table, Colour::No);
  EXPECT_NE(text.find("DEVICE   HEALTH\n"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu-1    Unhealthy\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  gpu-1 is Unhealthy: xid 79\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("gpu-1 is tainted berth.dev/device-health:NoExecute by DeviceTaintRule device-health-1"),
      std::string::npos)
      << text;
}

TEST(Explanation, ShowsTheNodesReportWhereTheStatusSaysNothing) {
  PodFacts facts = facts_of(kPlaced);
  facts.bind_request = placed_request(R"({"phase":"Succeeded"})");
  facts.node_health = json_of(R"({"spec":{"devices":[)"
                              R"({"driver":"d","pool":"other","device":"gpu-1","health":"Healthy"},)"
                              R"({"driver":"d","pool":"po","device":"gpu-1","health":"Unhealthy",)"
                              R"("message":"xid 79"}]}})");
  EXPECT_TRUE(has_unhealthy_device(facts));
  EXPECT_NE(explanation_text(explain_pod(facts, kNow), Detail::Table, Colour::No)
                .find("  gpu-1 is Unhealthy: xid 79\n"),
            std::string::npos);
  facts.pod["status"]["containerStatuses"] =
      json_of(R"([{"name":"c","allocatedResourcesStatus":[{"name":"claim:g","resources":[)"
              R"({"resourceID":"d/po/gpu-1","health":"Healthy"}]}]}])");
  EXPECT_FALSE(has_unhealthy_device(facts)) << "the kubelet knows better";
}

TEST(Explanation, NamesTheBindingConditionThatIsMissing) {
  PodFacts facts = facts_of(kPlaced);
  facts.bind_request = placed_request(R"({"phase":"Pending","step":"WaitingForDevices"})");
  const std::string head =
      R"({"metadata":{"name":"c","namespace":"ns"},"status":{"allocation":{"allocationTimestamp":)"
      R"("2026-01-01T00:00:10Z","devices":{"results":[{"request":"r","driver":"d","pool":"po","device":)"
      R"("gpu-1","bindingConditions":["x/Ready"]}]}})";
  facts.claims = {json_of(head + "}}")};
  const Json waits = explain_pod(facts, kNow);
  EXPECT_EQ(waits.string_at("state"), "WaitingForDevices");
  EXPECT_EQ(waits.string_at("summary"),
            "is placed on n1; the binder waits for condition x/Ready of device d/po/gpu-1, for 90s so far");
  facts.claims = {json_of(
      head + R"(,"devices":[{"driver":"d","pool":"po","device":"gpu-1","conditions":[{"type":"x/Ready",)"
             R"("status":"True","lastTransitionTime":"2026-01-01T00:00:15Z"}]}]}})")};
  facts.bind_request = placed_request(R"({"phase":"Succeeded","step":"Bound"})");
  facts.pod = json_of(
      R"({"metadata":{"name":"p","namespace":"ns","uid":"12345678-0",)"
      R"("creationTimestamp":"2026-01-01T00:00:00Z"},)"
      R"("spec":{"schedulerName":"berth","nodeName":"n1"},"status":{"phase":"Running","conditions":[{"type":)"
      R"("PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:16Z"}],"containerStatuses":)"
      R"([{"state":{"running":{"startedAt":"2026-01-01T00:00:20Z"}}}]}})");
  const std::string text = explanation_text(explain_pod(facts, kNow), Detail::Table, Colour::No);
  EXPECT_NE(text.find(R"(STEPS
  STEP                AT (UTC)       AFTER
  created             00:00:00       -
  decided             00:00:01.500   1s
  bind request made   00:00:02       1s
  devices reserved    00:00:10       8s
  devices ready       00:00:15       5s
  bound               00:00:16       1s
  running             00:00:20       4s
)"),
            std::string::npos)
      << text;
}

constexpr const char* kTold =
    R"({"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
    R"("message":"0/1 x."}]})";

// The condition has Kubernetes' sentence alone; its event appends Berth's explanation.
TEST(Explanation, WithoutARecordTellsWhatTheLatestEventSays) {
  PodFacts facts = facts_of("");
  facts.pod["status"] = json_of(kTold);
  EXPECT_EQ(explain_pod(facts, kNow).string_at("summary"), "waits: 0/1 x.");
  const auto event = [](const char* uid, const char* message, const char* time) {
    return Json::object(
        {{"involvedObject", Json::object({{"uid", uid}})}, {"message", message}, {"lastTimestamp", time}});
  };
  facts.events = Json::object(
      {{"items", Json::array({event("12345678-0", "0/1 x. Ours.", "2026-01-01T00:00:09Z"),
                              event("12345678-0", "0/1 x. Ours before.", "2026-01-01T00:00:03Z"),
                              event("12345678-0", "0/2 x. Of another state.", "2026-01-01T00:00:20Z"),
                              event("another-pod", "0/1 x. Of another.", "2026-01-01T00:00:30Z")})}});
  EXPECT_EQ(explain_pod(facts, kNow).string_at("summary"), "waits: 0/1 x. Ours.");
}

TEST(Explanation, OfAMemberTellsWhatItsGroupsDecisionSaysOfIt) {
  GroupFacts group;
  group.group = json_of(R"({"metadata":{"name":"g","namespace":"ns"},"spec":{}})");
  group.record = json_of(R"({"decisions":[{"id":"d","time":"2026-01-01T00:01:30Z","result":"Unschedulable",)"
                         R"("message":"m","members":[{"pod":"q","explanation":"Of q."},)"
                         R"({"pod":"p","explanation":"Of p."}]}]})");
  PodFacts member;
  member.pod = json_of(kPod);
  member.pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", "g"}});
  member.pod["status"] = json_of(kTold);
  group.members = {member};
  EXPECT_EQ(explain_group(group, kNow).items_at("members").front().string_at("told"), "0/1 x. Of p.");
  member.record = json_of(R"({"decisions":[]})");
  member.group_record = group.record;
  const std::string text = explanation_text(explain_pod(member, kNow), Detail::Table, Colour::No);
  EXPECT_NE(text.find("  Of this member:\n    Of p.\n"
                      "  Of the first member that found no node, q:\n    Of q.\n"),
            std::string::npos)
      << text;
  member.pod["metadata"]["name"] = "q";
  EXPECT_TRUE(explain_pod(member, kNow).part("firstRefused").is_null()) << "it is the first one itself";
  member.group_record["decisions"].as_array().front()["result"] = "Undone";
  member.pod["metadata"]["name"] = "p";
  EXPECT_TRUE(explain_pod(member, kNow).part("firstRefused").is_null()) << "the group did not wait for it";
}

GroupFacts gang_of(std::int64_t minimum, std::size_t pods) {
  GroupFacts facts;
  facts.group = json_of(R"({"metadata":{"name":"g","namespace":"ns"},"spec":{}})");
  facts.group["spec"]["schedulingPolicy"]["gang"]["minCount"] = minimum;
  PodFacts member;
  member.pod = json_of(kPod);
  member.pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", "g"}});
  facts.members.assign(pods, member);
  return facts;
}

TEST(Explanation, OfAGroupShowsItsMembers) {
  GroupFacts facts = gang_of(2, 1);
  facts.record =
      json_of(R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"the gang wants 2 pods,)"
              R"( and 1 is there"}})");
  const Json waits = explain_group(facts, kNow);
  EXPECT_EQ(waits.string_at("state"), "Gated");
  EXPECT_EQ(
      waits.string_at("summary"),
      "a gang of at least 2: 1 pod, 0 with a node; not tried yet: the gang wants 2 pods, and 1 is there");
  facts.record = json_of(kPlaced);
  facts.members.front().bind_request = placed_request("{}");
  const Json placed = explain_group(facts, kNow);
  EXPECT_EQ(placed.string_at("state"), "Placed");
  const std::string text = explanation_text(placed, Detail::Wide, Colour::No);
  EXPECT_NE(text.find("  p     Binding   n1     gpu-1\n"), std::string::npos) << text;
}

TEST(Explanation, OfAGroupListsWhatItsStartWaitsFor) {
  GroupFacts facts = gang_of(4, 2);
  facts.members.back().pod["metadata"]["name"] = "q";
  facts.members.back().pod["spec"]["schedulingGates"] =
      json_of(R"([{"name":"example.com/quota"},{"name":"example.com/budget"}])");
  facts.record = json_of(R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"member q waits"}})");
  const Json waits = explain_group(facts, kNow);
  EXPECT_EQ(
      to_string(waits.part("startWaits")),
      R"(["2 more pods: 2 of 4 exist","scheduling gates example.com/quota, example.com/budget of pod q"])");
  EXPECT_NE(explanation_text(waits, Detail::Table, Colour::No)
                .find("A START WAITS FOR\n  - 2 more pods: 2 of 4 exist\n  - scheduling gates"),
            std::string::npos);
}

TEST(Explanation, OfAGroupListsSomeOfWhatItsStartWaitsForAndCountsTheRest) {
  GroupFacts facts;
  facts.group = json_of(
      R"({"metadata":{"name":"g","namespace":"ns"},"spec":{"schedulingPolicy":{"gang":{"minCount":4}}}})");
  facts.record = json_of(R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"members wait"}})");
  for (std::size_t i = 0; i < kStartWaitsMax + 2; ++i) {
    PodFacts member;
    member.pod = json_of(kPod);
    member.pod["spec"]["schedulingGroup"] = Json::object({{"podGroupName", "g"}});
    member.pod["spec"]["schedulingGates"] = json_of(R"([{"name":"example.com/quota"}])");
    facts.members.push_back(std::move(member));
  }
  const Json explained = explain_group(facts, kNow);
  const JsonArray& waits = explained.part("startWaits").as_array();
  ASSERT_EQ(waits.size(), kStartWaitsMax + 1);
  EXPECT_EQ(waits.back().as_string(), "and 2 more");
}

TEST(Explanation, OfAGroupNamesTheMissingParentFirst) {
  GroupFacts facts = gang_of(2, 1);
  facts.missing = {"CompositePodGroup sevre, which does not exist"};
  facts.record = json_of(R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"waits"}})");
  EXPECT_EQ(to_string(explain_group(facts, kNow).part("startWaits")),
            R"(["CompositePodGroup sevre, which does not exist","1 more pod: 1 of 2 exists"])");
}

TEST(Explanation, OfATreeListsTheGroupsAndPodsThatAreMissing) {
  TreeFacts facts;
  facts.root = "serve";
  const auto group = [&](const char* name, bool composite, std::size_t level, const char* policy) {
    Json object = Json::object({{"metadata", Json::object({{"name", name}, {"namespace", "ns"}})}});
    object["spec"]["schedulingPolicy"] = json_of(policy);
    facts.groups.push_back({std::move(object), composite, level, {}});
  };
  group("serve", true, 0, R"({"gang":{"minGroupCount":3}})");
  group("inner", true, 1, R"({"gang":{"minGroupCount":1}})");
  group("prefill", false, 2, R"({"gang":{"minCount":1}})");
  group("decode", false, 1, R"({"gang":{"minCount":2}})");
  facts.record = json_of(R"({"decisions":[],"gate":{"time":"2026-01-01T00:01:00Z","why":"waits"}})");
  EXPECT_EQ(
      to_string(explain_tree(facts, kNow).part("startWaits")),
      R"(["1 more group of CompositePodGroup serve: 2 of 3 exist",)"
      R"("1 more pod of PodGroup prefill: 0 of 1 exist","2 more pods of PodGroup decode: 0 of 2 exist"])");
}

TEST(Explanation, OfAGroupTellsWhatBecameOfItsWish) {
  GroupFacts facts;
  facts.group = json_of(R"({"metadata":{"name":"g","namespace":"ns"}})");
  EXPECT_EQ(explain_group(facts, kNow).find("wish"), nullptr);
  facts.policies = json_of(
      R"({"items":[{"metadata":{"name":"near"},"status":{"wish":"rack, else anywhere","groups":[)"
      R"({"kind":"CompositePodGroup","name":"g","score":1,"message":"another object"},)"
      R"({"kind":"PodGroup","name":"g","level":"block","score":0.5,"message":"1 pod in b1/r1"}]}}]})");
  const Json told = explain_group(facts, kNow);
  EXPECT_EQ(told.part("wish").string_at("policy"), "near");
  EXPECT_EQ(told.part("wish").string_at("reached"), "block");
  const std::string text = explanation_text(told, Detail::Table, Colour::No);
  EXPECT_NE(text.find("Wish of PlacementPolicy near: rack, else anywhere. It reached block: 1 pod in b1/r1; "
                      "score 0.5."),
            std::string::npos)
      << text;
}

TEST(Explanation, OfATreeTellsWhatBecameOfTheWishesOfItsGroups) {
  TreeFacts facts;
  facts.root = "serve";
  facts.groups.push_back({json_of(R"({"metadata":{"name":"serve","namespace":"ns"}})"), true, 0});
  facts.groups.push_back({json_of(R"({"metadata":{"name":"decode","namespace":"ns"}})"), false, 1});
  facts.policies = json_of(
      R"({"items":[{"metadata":{"name":"together"},"status":{"wish":"one block","groups":[)"
      R"({"kind":"CompositePodGroup","name":"serve","level":"block","score":1,"message":"4 pods in b1"}]}},)"
      R"({"metadata":{"name":"near"},"status":{"wish":"rack, else anywhere","groups":[)"
      R"({"kind":"PodGroup","name":"decode","score":0,"message":"0 of 2 pods have a node"}]}}]})");
  const std::string text = explanation_text(explain_tree(facts, kNow), Detail::Table, Colour::No);
  EXPECT_NE(
      text.find("  Wish of PlacementPolicy together: one block. It reached block: 4 pods in b1; score 1.\n"
                "  Wish of PlacementPolicy near for PodGroup decode: rack, else anywhere. 0 of 2 pods "
                "have a node;\n  score 0.\n"),
      std::string::npos)
      << text;
}

TEST(Explanation, ShowsTheScoresOfTheNodeAndOfTheNextOne) {
  struct Case {
    const char* scores;
    const char* text;
  };
  const Case cases[] = {
      {R"({"node":"n1","total":9,"nodes":3,"runnerUp":"n2","runnerUpTotal":5,)"
       R"("plugins":[{"plugin":"P","weight":3,)"
       R"("raw":3,"weighted":9,"runnerUpRaw":2,"runnerUpWeighted":5}]})",
       "  n1 has 9. That is the most of 3 nodes. n2 comes next with 5.\n"
       "  PLUGIN   WEIGHT   n1   x WEIGHT   n2   x WEIGHT\n"
       "  P        3        3    9          2    5\n"
       "  total                  9               5\n"},
      {R"({"node":"n1","total":9,"nodes":1,"plugins":[{"plugin":"P","weight":3,"raw":3,"weighted":9}]})",
       "  n1 has 9. No other node takes the pod.\n"
       "  PLUGIN   WEIGHT   n1   x WEIGHT\n"
       "  P        3        3    9\n"
       "  total                  9\n"},
      {R"({"node":"n1","total":9,"nodes":2,"runnerUp":"n2","runnerUpTotal":9})",
       "  n1 has 9. n2 has as much. Of equal nodes the first by name wins.\n"},
      {R"({"node":"n1","total":9,"nodes":2,"runnerUp":"n2","runnerUpTotal":10})",
       "  n1 has 9. Today n2 has 10, the most of 2 nodes: the objects have changed since the decision.\n"},
      {R"({"node":"n1","refused":"node(s) were unschedulable"})",
       "  n1 would not take the pod today: node(s) were unschedulable.\n"}};
  for (const Case& one : cases) {
    Json explanation =
        Json::object({{"kind", "Pod"}, {"namespace", "ns"}, {"name", "p"}, {"state", "Running"}});
    explanation["scores"] = json_of(one.scores);
    const std::string text = explanation_text(explanation, Detail::Table, Colour::No);
    EXPECT_TRUE(
        text.ends_with("SCORES on the objects as they are now, without this pod\n" + std::string(one.text)))
        << text;
  }
}

std::string start_unknown(std::int64_t running) {
  Json json = Json::object({{"kind", "Pod"}, {"namespace", "default"}, {"name", "x"}});
  json["expectedStart"] = Json::object({{"unknown", "NeverFits"}, {"running", running}});
  const std::string text = explanation_text(json, Detail::Table, Colour::No);
  return text.substr(text.find("Unknown"));
}

TEST(ExplanationText, SaysHowManyRunTimesAreKnown) {
  EXPECT_EQ(start_unknown(1),
            "Unknown: 1 running pod has an expected duration, and it does not fit after that end.\n");
  EXPECT_EQ(start_unknown(3),
            "Unknown: 3 running pods have an expected duration, and it does not fit after their end.\n");
}

}  // namespace
}  // namespace berth::explain
