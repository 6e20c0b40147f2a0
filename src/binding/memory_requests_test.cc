#include "binding/memory_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/types/bind_request.h"
#include "binding/binder.h"
#include "binding/memory_request_table.h"
#include "binding/testing/binder_fixture.h"
#include "client/request_writes.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::add_claim;
using testing::BinderFixture;
using testing::InjectedFault;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;
using testing::Requests;
using Log = std::vector<std::string>;

// A pod "p", with the claim "c" if `device` is not empty: the rest of its device result.
struct Decided : BinderFixture {
  explicit Decided(const std::string& device = "", const std::string& group = "")
      : BinderFixture({}, Requests::InMemory) {
    put(Kind::Node, kNodeN1);
    if (!device.empty()) add_claim(*this, "c");
    put(Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{)" +
            std::string(device.empty() ? "" : R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}])") +
            "}}");
    deliver();
    std::string claims;
    if (!device.empty())
      claims = R"(,"resourceClaimAllocations":[{"name":"c","claimName":"c","claimUID":"u-c","allocation":)"
               R"({"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",)" +
               device + "}]}}}]";
    decide(R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p","podUID":"u-p",)"
           R"("selectedNode":"n1","decisionID":"d1")" +
           group + claims + "}}");
    deliver();
  }

  void settle(Duration time = Duration()) { run_until_idle(now() + time); }
  // The binding fails with a server error, and the binder runs again.
  void fail_binding() {
    answer("create pods p/binding", InjectedFault::ServerError);
    advance_to(now() + Duration::millis(200));
    deliver();
  }
};

TEST(MemoryRequests, APlainPodCostsItsBinding) {
  Decided cluster;
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"});
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "Scheduled");
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.view().bind_requests.size(), 0u);
}

TEST(MemoryRequests, APodWithAClaimCostsTheClaimAndItsBinding) {
  Decided cluster(R"("device":"gpu")");
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.settle();
  EXPECT_EQ(cluster.log,
            (Log{"patch resourceclaims c", "patch resourceclaims c/status", "create pods p/binding"}));
}

// A pod that was bound is not bound again while the view lags, whatever else wakes its request.
TEST(MemoryRequests, ABoundPodIsAwaited) {
  Decided cluster;
  cluster.answer("create pods p/binding");
  ASSERT_FALSE(cluster.view().pods.find("d", "p")->bound());
  cluster.remove(api::ObjectKey{Kind::Node, "", "n1", {}});
  cluster.put(Kind::Node, kNodeN1);
  cluster.deliver(Kind::Node);
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  EXPECT_EQ(cluster.in_flight(), 0u);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"});
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.events.size(), 1u);
}

// Else each of a thousand pods that are decided together keeps its request until all of them are begun.
TEST(MemoryRequests, TheRequestOfABoundPodEndsBeforeOthersBegin) {
  BinderFixture cluster({}, Requests::InMemory);
  cluster.put(Kind::Node, kNodeN1);
  const std::size_t pods = engine::kWritesInFlightMax + 10;
  for (std::size_t i = 0; i < pods; ++i) {
    const std::string n = std::to_string(i);
    add_claim(cluster, "c" + n);
    cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p)" + n + R"(","uid":"u-p)" + n +
                               R"("},"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"c)" + n +
                               R"("}]}})");
    cluster.deliver();
    cluster.decide(R"({"metadata":{"namespace":"d","name":"p)" + n + R"("},"spec":{"podName":"p)" + n +
                   R"(","podUID":"u-p)" + n +
                   R"(","selectedNode":"n1","decisionID":"d1","resourceClaimAllocations":[{"name":"c",)" +
                   R"("claimName":"c)" + n + R"(","claimUID":"u-c)" + n +
                   R"(","allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",)" +
                   R"("device":"d)" + n + R"("}]}}}]}})");
  }
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), engine::kWritesInFlightMax);
  for (const char* write : {"patch resourceclaims c0", "patch resourceclaims c0/status",
                            "patch resourceclaims c1", "create pods p0/binding"}) {
    cluster.answer(write);
    cluster.deliver();
  }
  ASSERT_EQ(cluster.kept_in_memory(), pods);
  cluster.answer("patch resourceclaims c2");
  EXPECT_EQ(cluster.kept_in_memory(), pods - 1);
  cluster.run_until_idle(cluster.now());
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
}

// As after a restored backup: the API server may have lost what it accepted.
TEST(MemoryRequests, APodThatIsNotSeenBoundIsBoundAgain) {
  Decided cluster;
  cluster.answer("create pods p/binding");
  cluster.advance_to(cluster.now() + kBoundViewWait - Duration::millis(1));
  cluster.deliver(Kind::Node);
  EXPECT_EQ(cluster.in_flight(), 0u);
  cluster.advance_to(cluster.now() + Duration::millis(1));
  cluster.deliver(Kind::Node);
  EXPECT_EQ(cluster.in_flight(), 1u);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"}) << "the second one meets its version";
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
}

// Three members of the gang "g", created one after the other as by the scheduler; the binder sees none yet.
struct DecidedGang : BinderFixture {
  DecidedGang() : BinderFixture({}, Requests::InMemory) {
    put(Kind::Node, kNodeN1);
    put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g","uid":"u-g"},"spec":{"schedulingPolicy":)"
                        R"({"gang":{"minCount":3}}}})");
    for (const std::string name : {"a", "b", "e"})
      put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name + "\"}}");
    deliver();
    for (const std::string name : {"a", "b", "e"}) decide(member(name));
  }
  static std::string member(const std::string& name) {
    return R"({"metadata":{"namespace":"d","name":")" + api::bind_request_name(name, "u-" + name) +
           R"("},"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
           R"(","selectedNode":"n1","decisionID":"x","group":{"name":"g","uid":"u-g","size":3}}})";
  }
  void settle(Duration time = Duration()) { run_until_idle(now() + time); }
  // The number of members of each BindRequest object; 0 if it is not a record.
  std::vector<std::size_t> stored() const {
    std::vector<std::size_t> members;
    for (const Json* object : all(Kind::BindRequest))
      members.push_back(object->part("spec").items_at("members").size());
    std::sort(members.begin(), members.end());
    return members;
  }
  // One after the other: a record is written when the one before is stored.
  void store_records(int count) {
    for (int n = 0; n < count; ++n) {
      advance_to(now() + kGangRecordInterval);
      deliver();
      answer_create(Kind::BindRequest);
    }
  }
  void commit() {
    store_records(2);
    deliver();
    answer(0);  // the commit
    deliver();
  }
  // The member's binding fails, and the binder runs again.
  void refuse_binding(const std::string& name) {
    answer("create pods " + name + "/binding", InjectedFault::Refused);
    advance_to(now() + Duration::millis(200));
    deliver();
  }
  // The name of the record with so many members.
  std::string record_of(std::size_t members) const {
    for (const Json* object : all(Kind::BindRequest))
      if (object->part("spec").items_at("members").size() == members)
        return std::string(object->part("metadata").string_at("name"));
    return "";
  }
  std::int64_t written(std::string_view begin) const {
    return std::count_if(log.begin(), log.end(),
                         [&](const std::string& line) { return line.starts_with(begin); });
  }
  bool all_bound() const {
    const Json* pods[] = {find(pod_key("a")), find(pod_key("b")), find(pod_key("e"))};
    return std::all_of(std::begin(pods), std::end(pods),
                       [](const Json* pod) { return pod->part("spec").string_at("nodeName") == "n1"; });
  }
};

// The bound member's request is gone by then, and the others are still refused.
TEST(MemoryRequests, AGroupThatIsDeletedAfterTheCommitLeavesNobodyBehind) {
  DecidedGang cluster;
  cluster.commit();
  cluster.answer("create pods a/binding");
  cluster.deliver();
  cluster.remove({Kind::PodGroup, "d", "g", {}});
  cluster.refuse_binding("b");
  cluster.settle(Duration::minutes(1));
  EXPECT_TRUE(cluster.all_bound());
}

TEST(MemoryRequests, AGangCostsItsRecordsItsCommitAndItsBindings) {
  DecidedGang cluster;
  ASSERT_EQ(cluster.in_flight(), 1u);  // the next record waits for this one's answer
  cluster.answer(0);
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.store_records(1);
  EXPECT_EQ(cluster.stored(), (std::vector<std::size_t>{1, 2}));
  cluster.settle();
  EXPECT_TRUE(cluster.all_bound());
  EXPECT_EQ(cluster.log.size(), 8u);  // two records and their deletes, the commit, three bindings
  EXPECT_EQ(cluster.written("patch podgroups g/status"), 1);
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{});
}

// Many members do not wait for the interval.
TEST(MemoryRequests, ManyMembersGetTheirRecordAtOnce) {
  DecidedGang cluster;
  cluster.answer(0);
  EXPECT_EQ(cluster.in_flight(), 0u) << "two members wait for others";
  for (std::size_t n = 2; n < kGangRecordMembersSoon; ++n)
    cluster.decide(DecidedGang::member(std::to_string(n)));
  EXPECT_EQ(cluster.in_flight(), 1u);
  cluster.answer(0);
  EXPECT_EQ(cluster.stored(), (std::vector<std::size_t>{1, kGangRecordMembersSoon}));
}

// Members that several gangs submit while a record is written share the next one, per scheduler and term.
TEST(MemoryRequests, SmallGangsShareARecord) {
  DecidedGang cluster;
  for (const std::string gang : {"h", "i"}) {
    cluster.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":")" + gang + R"(","uid":"u-)" + gang +
                                    R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
    for (const std::string number : {"1", "2"}) {
      const std::string pod = gang + number;
      cluster.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":")" + pod + R"(","uid":"u-)" + pod + "\"}}");
      cluster.deliver();
      const std::string epoch = gang == "i" ? R"(,"epoch":7)" : "";
      cluster.decide(R"({"metadata":{"namespace":"d","name":")" + api::bind_request_name(pod, "u-" + pod) +
                     R"("},"spec":{"podName":")" + pod + R"(","podUID":"u-)" + pod +
                     R"(","selectedNode":"n1","decisionID":")" + gang + R"(","group":{"name":")" + gang +
                     R"(","uid":"u-)" + gang + R"(","size":2})" + epoch + "}}");
    }
  }
  cluster.store_records(3);
  EXPECT_EQ(cluster.stored(), (std::vector<std::size_t>{1, 2, 4}));
  for (const Json* record : cluster.all(Kind::BindRequest)) {
    const std::size_t gangs = record->part("spec").items_at("members").size() == 4 ? 2 : 1;
    EXPECT_EQ(record->part("metadata").items_at("ownerReferences").size(), gangs);
  }
  cluster.settle();
  EXPECT_EQ(cluster.written("create pods"), 7);
  EXPECT_EQ(cluster.log.size(), 3u + 3u + 7u + 3u);  // records, commits, bindings, deletes of the records
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{});
}

TEST(MemoryRequests, AGangGoesOnInTheNextProcess) {
  for (const std::size_t answers : {1u, 2u, 3u, 4u}) {  // a record, the other, the commit, a binding
    DecidedGang cluster;
    cluster.store_records(1);
    cluster.advance_to(cluster.now() + kGangRecordInterval);
    cluster.deliver();
    for (std::size_t n = 1; n < answers; ++n) {
      cluster.answer(0);
      cluster.deliver();
    }
    cluster.crash();
    cluster.settle(Duration::seconds(1));
    EXPECT_TRUE(cluster.all_bound()) << answers;
    EXPECT_EQ(cluster.written("patch podgroups g/status"), 1) << answers;
    EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{}) << answers;
  }
}

// As after a switch from WhenWaiting to Always.
TEST(MemoryRequests, ARecordIsCollectedWhereNobodyTakesItsMembers) {
  DecidedGang cluster;
  cluster.store_records(2);
  cluster.crash(Requests::Objects);
  cluster.settle(kGangRecordLook);
  EXPECT_EQ(cluster.stored(), (std::vector<std::size_t>{1, 2})) << "their pods wait";
  for (const std::string name : {"a", "b"}) cluster.change(pod_key(name), R"({"spec":{"nodeName":"n1"}})");
  cluster.put(Kind::BindRequest, DecidedGang::member("e"));
  cluster.settle(kGangRecordLook);
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{0}) << "the request of the third";
}

TEST(MemoryRequests, AGangWhoseRecordIsRefusedGetsObjects) {
  DecidedGang cluster;
  cluster.answer(0, InjectedFault::Refused);
  cluster.settle(kGangRecordInterval);
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{0});  // the record of the others is deleted
  EXPECT_EQ(cluster.written("create bindrequests"), 2);
  EXPECT_TRUE(cluster.all_bound());
}

TEST(MemoryRequests, AMemberThatFailsBecomesAnObjectAndIsNotTakenFromItsRecordAgain) {
  DecidedGang cluster;
  cluster.commit();
  cluster.refuse_binding("a");
  cluster.answer("create bindrequests " + api::bind_request_name("a", "u-a"));
  EXPECT_EQ(cluster.kept_in_memory(), 2u);
  cluster.crash();
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 2u);
  cluster.settle(Duration::seconds(60));
  EXPECT_TRUE(cluster.all_bound());
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{0});
}

TEST(MemoryRequests, AMemberWhoseObjectIsDeletedByHandIsNotTakenFromItsRecordAgain) {
  DecidedGang cluster;
  cluster.commit();
  cluster.refuse_binding("b");
  const std::string name = api::bind_request_name("b", "u-b");
  cluster.answer("create bindrequests " + name);
  cluster.remove(request_key(name));
  cluster.deliver();
  const std::string mark = "patch bindrequests " + cluster.record_of(2);
  cluster.answer(mark, InjectedFault::ServerError);
  cluster.put(Kind::BindRequest, DecidedGang::member("z"));
  cluster.deliver();
  cluster.answer(mark);
  cluster.crash();
  cluster.deliver();
  EXPECT_FALSE(cluster.view().bind_requests.find("d", name));
  EXPECT_TRUE(cluster.view().bind_requests.find("d", api::bind_request_name("e", "u-e")));
}

// The answer to its record's create was lost, and the member fails before the create is repeated.
TEST(MemoryRequests, AMemberThatBecameAnObjectIsNotTakenFromALateAnswerAgain) {
  DecidedGang cluster;
  cluster.answer(0, InjectedFault::LostDone);
  cluster.deliver();
  ASSERT_EQ(cluster.kept_in_memory(), 1u);
  cluster.put(Kind::BindRequest, DecidedGang::member("a"));
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  const std::string name = api::bind_request_name("a", "u-a");
  const std::string uid = cluster.view().bind_requests.find("d", name)->meta.uid;
  cluster.decide(DecidedGang::member("a"));
  cluster.settle();
  EXPECT_EQ(cluster.view().bind_requests.find("d", name)->meta.uid, uid);
}

TEST(MemoryRequests, AnObjectMadeInALaterTermHasItsEpoch) {
  DecidedGang cluster;
  cluster.commit();
  cluster.lead_in_memory({7, {"kube-system", "berth", "u7"}});
  cluster.refuse_binding("a");
  const std::string name = api::bind_request_name("a", "u-a");
  cluster.answer("create bindrequests " + name);
  const Json& spec = cluster.find(request_key(name))->part("spec");
  EXPECT_EQ(spec.int_at("epoch"), 7);
  EXPECT_EQ(spec.part("lease").string_at("uid"), "u7");
}

// Other processes may see the pod's binding only after the record is gone.
TEST(MemoryRequests, AMemberThatEndedIsNotTakenFromItsRecordAgain) {
  DecidedGang cluster;
  cluster.commit();
  for (const std::string name : {"a", "b"}) cluster.answer("create pods " + name + "/binding");
  cluster.deliver();
  cluster.deliver();
  while (cluster.stored().size() > 1) cluster.answer(cluster.in_flight() - 1);
  EXPECT_EQ(cluster.kept_in_memory(), 1u) << "e is being bound";
  cluster.relist_requests();
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.settle();
  EXPECT_TRUE(cluster.all_bound());
  EXPECT_EQ(cluster.stored(), std::vector<std::size_t>{});
}

TEST(MemoryRequests, ABindingIsAnnouncedOnceThoughTheRequestStays) {
  DecidedGang cluster;
  cluster.commit();
  for (const std::string name : {"a", "b", "e"}) cluster.answer("create pods " + name + "/binding");
  cluster.deliver();
  cluster.answer("delete bindrequests " + cluster.record_of(1), InjectedFault::Refused);
  EXPECT_GE(cluster.kept_in_memory(), 1u);
  cluster.settle(Duration::seconds(5));
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.events.size(), 3u);
  EXPECT_EQ(cluster.repeated_events, 0u);
}

// As many members as a record has room for, with the longest names.
TEST(MemoryRequests, TheNamesOfEndedMembersFitIntoAnAnnotation) {
  constexpr std::size_t kNameBytes = 253;
  std::set<client::NamedKey> members;
  for (int i = 100'000; members.size() < kGangRecordBytesMax / kNameBytes; ++i)
    members.insert({"d", std::to_string(i) + std::string(kNameBytes - 6, 'x')});
  const std::string names = ended_members_text(members);
  EXPECT_LE(names.size(), kEndedMembersBytesMax);
  EXPECT_GT(names.size(), kEndedMembersBytesMax - kNameBytes - 1);
  EXPECT_EQ(names.size() % (kNameBytes + 1), kNameBytes) << "whole names with commas between them";
  members.insert({"d", "a"});
  EXPECT_TRUE(ended_members_text(members).ends_with(",a")) << "a short one is still told";
}

// A standby sees this: another process has bound the members.
TEST(MemoryRequests, MembersOfARecordThatIsGoneAreForgotten) {
  DecidedGang cluster;
  cluster.answer(0);
  cluster.deliver();
  cluster.crash();
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  for (const Json* record : cluster.all(Kind::BindRequest))
    cluster.remove(request_key(std::string(record->part("metadata").string_at("name"))));
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.view().bind_requests.size(), 0u);
}

// The create of the object was carried out, although its answer reported a failure.
TEST(MemoryRequests, AnObjectThatAppearsTakesTheirPlaceWhateverItsVersion) {
  Decided cluster;
  cluster.fail_binding();
  cluster.answer("create bindrequests p", InjectedFault::LostDone);
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  const api::BindRequest* seen = cluster.view().bind_requests.find("d", "p");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->meta.uid, cluster.find(request_key("p"))->part("metadata").string_at("uid"));
}

TEST(MemoryRequests, BeyondTheirBytesObjectsAreMade) {
  BinderFixture cluster({}, Requests::InMemory);
  const std::string text(kMemoryRequestBytesMax / 4, 'x');
  for (int i = 0; i < 4; ++i)
    cluster.decide(R"({"metadata":{"namespace":"d","name":"p)" + std::to_string(i) +
                   R"("},"spec":{"podName":"p","selectedNode":")" + text + R"("}})");
  EXPECT_EQ(cluster.kept_in_memory(), 3u);
  EXPECT_EQ(cluster.in_flight(), 1u);
}

TEST(MemoryRequests, MembersThatWaitForTheirRecordCountToo) {
  DecidedGang cluster;
  const std::string text(kMemoryRequestBytesMax / 4, 'x');
  for (int i = 0; i < 4; ++i)
    cluster.decide(R"({"metadata":{"namespace":"d","name":"q)" + std::to_string(i) +
                   R"("},"spec":{"podName":"q","selectedNode":")" + text +
                   R"(","decisionID":"y","group":{"name":"h","uid":"u-h","size":4}}})");
  EXPECT_EQ(cluster.in_flight(), 2u) << "the record, and the member that has no room";
}

TEST(MemoryRequests, AListOfObjectsDoesNotForgetThem) {
  Decided cluster;
  cluster.relist_requests();
  cluster.deliver();
  EXPECT_NE(cluster.view().bind_requests.find("d", "p"), nullptr);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"});
}

// The names of BindRequests as a receiver knows them, looked at after each batch.
struct Known final : client::WatchReceiver {
  void on_list(client::RawList list) override {
    names.clear();
    for (const api::RawPtr& object : list.objects) names.insert(name_of({{}, object}));
    for (const api::BindRequestPtr& kept : list.kept) names.insert(kept->meta.name);
  }
  void on_changes(std::vector<client::RawChange> changes) override {
    for (const client::RawChange& change : changes) {
      if (change.kind == client::ChangeKind::Deleted)
        names.erase(name_of(change));
      else
        names.insert(name_of(change));
    }
    always &= names.contains("p");
    ++batches;
    latest = changes.back().kept;
  }
  void on_trouble(std::string) override {}
  static std::string name_of(const client::RawChange& change) {
    if (change.kept) return change.kept->meta.name;
    return std::string(parse_json(*change.object)->part("metadata").string_at("name"));
  }
  std::set<std::string> names;
  int batches = 0;  // of changes
  api::BindRequestPtr latest;
  bool always = true;  // "p" was there after each batch
};

// The scheduler of this process runs beside: a pod without a request would be decided again.
TEST(MemoryRequests, AReceiverSeesNoGapWhereAnObjectTakesTheirPlace) {
  enum class By { Answer, Watch, List };
  for (const By by : {By::Answer, By::Watch, By::List}) {
    ManualClock clock(Time::from_seconds(1'000'000));
    engine::testing::FakeApi api(clock);
    MemoryRequests memory(api);
    Known known;
    const auto watch = memory.list_and_watch(api::ref_of(Kind::BindRequest), known);
    api.deliver_all();
    api::BindRequestPtr kept;
    const auto write = [&](client::Write wanted) {
      memory.submit(std::move(wanted.request), [&](const client::ApiReply& reply) { kept = reply.kept; });
      memory.flush(clock.now());
    };
    const std::string request = R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p",)"
                                R"("podUID":"u-p","selectedNode":"n1","decisionID":"d1"}})";
    const auto create = client::keep_request(api::decode_bind_request(*parse_json(request), nullptr));
    write(create);
    ASSERT_TRUE(known.names.contains("p"));
    if (by == By::Answer) {
      api::BindRequest waiting = *kept;
      waiting.step = api::BindStep::WaitingForDevices;
      write(client::change_kept_request(*kept, waiting, "status"));
      api.answer();
    } else {
      api.put(Kind::BindRequest, request);
      if (by == By::List) api.relist(api::ref_of(Kind::BindRequest));
    }
    api.deliver_all();
    EXPECT_EQ(memory.kept(), 0u);
    EXPECT_TRUE(known.always && known.names.contains("p")) << static_cast<int>(by);
    write(create);
    EXPECT_EQ(memory.kept(), 0u) << "the API server answers for a name that it has";
  }
}

// A process that keeps requests, its API server, and one that follows them.
struct Keeping {
  Keeping() {
    watch = memory.list_and_watch(api::ref_of(Kind::BindRequest), known);
    api.deliver_all();
  }
  client::ApiReply answer_to(client::Write write) {
    std::optional<client::ApiReply> answer;
    memory.submit(std::move(write.request), [&](client::ApiReply reply) { answer = std::move(reply); });
    return answer.value_or(client::ApiReply{.delivery = client::Delivery::Lost});
  }
  api::BindRequest decided(const std::string& name, const std::string& decision = "d1") const {
    api::BindRequest request;
    request.meta.ns = "d";
    request.meta.name = name;
    request.pod_name = name;
    request.decision_id = decision;
    return request;
  }

  ManualClock clock{Time::from_seconds(1'000'000)};
  engine::testing::FakeApi api{clock};
  MemoryRequests memory{api};
  Known known;
  std::unique_ptr<client::Subscription> watch;
};

TEST(MemoryRequests, WhatIsWrittenTogetherIsSeenTogether) {
  Keeping process;
  process.known.batches = 0;
  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(process.answer_to(client::keep_request(process.decided(name))).code, 201);
  EXPECT_EQ(process.known.batches, 0);
  process.memory.flush(process.clock.now());
  EXPECT_EQ(process.known.batches, 1);
  EXPECT_EQ(process.known.names, (std::set<std::string>{"a", "b", "c"}));
}

TEST(MemoryRequests, AFullLogDoesNotWait) {
  Keeping process;
  process.known.batches = 0;
  api::BindRequest large = process.decided("a");
  large.node = std::string(kRequestLogBytesMax, 'n');
  process.answer_to(client::keep_request(large));
  EXPECT_EQ(process.known.batches, 0) << "one change always has room";
  process.answer_to(client::keep_request(process.decided("b")));
  EXPECT_EQ(process.known.names, std::set<std::string>{"a"});
  process.memory.flush(process.clock.now());
  EXPECT_EQ(process.known.names, (std::set<std::string>{"a", "b"}));
}

TEST(MemoryRequests, AChangeStandsOnWhatWasSeen) {
  Keeping process;
  const api::BindRequestPtr first = process.answer_to(client::keep_request(process.decided("p"))).kept;
  EXPECT_TRUE(first->in_memory);
  EXPECT_EQ(first->meta.owners.front().name, "p");
  api::BindRequest withdrawn = *first;
  withdrawn.withdrawn = true;
  const api::BindRequestPtr second = process.answer_to(client::change_kept_request(*first, withdrawn)).kept;
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->withdrawn);
  EXPECT_FALSE(first->withdrawn) << "whoever reads it";
  EXPECT_GT(second->meta.resource_version, first->meta.resource_version);
  api::BindRequest ended = *first;
  ended.reason = kSuperseded;
  ended.withdrawn = false;
  EXPECT_EQ(process.answer_to(client::change_kept_request(*first, ended, "status")).reason, "Conflict");
  const api::BindRequestPtr third =
      process.answer_to(client::change_kept_request(*second, ended, "status")).kept;
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->withdrawn) << "a status changes no spec";
  EXPECT_EQ(third->reason, kSuperseded);
  EXPECT_TRUE(third->status_names_decision);
}

TEST(MemoryRequests, TheStatusOfAnEarlierDecisionReadsAsEmpty) {
  Keeping process;
  const api::BindRequestPtr first = process.answer_to(client::keep_request(process.decided("p"))).kept;
  api::BindRequest ended = *first;
  ended.phase = api::BindPhase::Succeeded;
  const api::BindRequestPtr second =
      process.answer_to(client::change_kept_request(*first, ended, "status")).kept;
  ASSERT_TRUE(second);
  const api::BindRequestPtr third =
      process.answer_to(client::change_kept_request(*second, process.decided("p", "d2"))).kept;
  ASSERT_TRUE(third);
  EXPECT_EQ(third->meta.uid, first->meta.uid);
  EXPECT_EQ(third->decision_id, "d2");
  EXPECT_EQ(third->phase, api::BindPhase::Pending);
  EXPECT_TRUE(third->status_is_stale);
  EXPECT_FALSE(third->status_names_decision);
}

// An object of this name was deleted before the request was kept.
TEST(MemoryRequests, AWriteWithATextIsAboutAnObject) {
  Keeping process;
  const api::BindRequestPtr kept = process.answer_to(client::keep_request(process.decided("p"))).kept;
  const client::Write late = client::merge_patch(
      request_key("p"), *parse_json(R"({"status":{"step":"WaitingForDevices"}})"), "theirs", 0, "status");
  EXPECT_EQ(process.answer_to(late).reason, "Conflict");
  EXPECT_EQ(process.answer_to(client::delete_object(request_key("p"), "theirs")).reason, "Conflict");
  EXPECT_EQ(process.memory.kept(), 1u);
  EXPECT_EQ(process.answer_to(client::delete_object(request_key("p"), kept->meta.uid)).kept, kept);
  EXPECT_EQ(process.memory.kept(), 0u);
}

TEST(MemoryRequests, AWriteOfWhatIsNotKeptAnyMoreIsRefused) {
  Keeping process;
  const api::BindRequestPtr gone = process.answer_to(client::keep_request(process.decided("p"))).kept;
  EXPECT_EQ(process.answer_to(client::delete_request(*gone)).kept, gone);
  EXPECT_EQ(process.answer_to(client::delete_request(*gone)).reason, "NotFound");
  EXPECT_EQ(process.answer_to(client::change_kept_request(*gone, *gone, "status")).reason, "NotFound");
  process.api.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p"}})");
  process.api.deliver_all();
  EXPECT_EQ(process.answer_to(client::change_kept_request(*gone, *gone, "status")).reason, "Conflict");
  EXPECT_EQ(process.answer_to(client::delete_request(*gone)).reason, "Conflict");
  EXPECT_EQ(process.api.requests_waiting(), 0u);
}

// What a receiver sees, a reader reads and a writer is answered is one value.
TEST(MemoryRequests, AKeptRequestIsShared) {
  Keeping process;
  const api::BindRequestPtr answered = process.answer_to(client::keep_request(process.decided("p"))).kept;
  client::Write get = client::unless_exists(request_key("p"), "");
  EXPECT_EQ(process.answer_to(get).kept, answered);
  process.memory.flush(process.clock.now());
  EXPECT_EQ(process.known.latest, answered);
}

TEST(MemoryRequests, TheFirstFailureMakesAnObjectWithItsStatus) {
  Decided cluster;
  cluster.fail_binding();
  cluster.answer("create bindrequests p");
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.find(request_key("p"))->part("metadata").find("annotations"), nullptr);
  cluster.answer("patch bindrequests p/status");
  const Json& status = cluster.find(request_key("p"))->part("status");
  EXPECT_EQ(status.int_at("failedAttempts"), 1);
  EXPECT_EQ(status.string_at("decisionID"), "d1");
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.log.back(), "patch bindrequests p/status");
  EXPECT_EQ(cluster.find(request_key("p"))->part("status").string_at("phase"), "Succeeded");
  EXPECT_EQ(cluster.find(pod_key("p"))->part("spec").string_at("nodeName"), "n1");
}

// With any fault of the two writes that make the object, the pod is bound once.
TEST(MemoryRequests, MakingTheObjectSurvivesEveryFault) {
  for (const InjectedFault fault :
       {InjectedFault::NotSent, InjectedFault::LostDone, InjectedFault::LostNotDone, InjectedFault::Throttled,
        InjectedFault::ServerError, InjectedFault::Conflict}) {
    for (const char* write : {"create bindrequests p", "patch bindrequests p/status"}) {
      Decided cluster;
      cluster.fail_binding();
      if (write != std::string_view("create bindrequests p")) cluster.answer("create bindrequests p");
      cluster.answer(write, fault);
      cluster.settle(Duration::seconds(600));
      EXPECT_EQ(cluster.find(pod_key("p"))->part("spec").string_at("nodeName"), "n1")
          << write << " " << static_cast<int>(fault);
      EXPECT_EQ(cluster.kept_in_memory(), 0u) << write << " " << static_cast<int>(fault);
      // There is no object if the create failed and the next attempt succeeded.
      const Json* object = cluster.find(request_key("p"));
      EXPECT_TRUE(!object || object->part("status").string_at("phase") == "Succeeded");
      EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "create pods p/binding"), 1);
    }
  }
}

TEST(MemoryRequests, AnObjectOfTheSameNameTakesItsPlace) {
  Decided cluster;
  cluster.put(Kind::BindRequest,
              R"({"metadata":{"namespace":"d","name":"p","uid":"theirs"},"spec":{"podName":"p",)"
              R"("podUID":"u-p","selectedNode":"n1","decisionID":"d0"}})");
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->meta.uid, "theirs");
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.find(request_key("p"))->part("status").string_at("phase"), "Succeeded");
}

TEST(MemoryRequests, APodThatIsGoneLeavesNothing) {
  Decided cluster;
  cluster.remove(pod_key("p"));
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.find(request_key("p")), nullptr);
}

TEST(MemoryRequests, ACrashForgetsThem) {
  Decided cluster;
  cluster.crash();
  cluster.deliver();
  EXPECT_EQ(cluster.view().bind_requests.size(), 0u);
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
}

}  // namespace
}  // namespace berth::binding
