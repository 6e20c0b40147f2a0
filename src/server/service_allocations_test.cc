#include "server/service_allocations.h"

#include <gtest/gtest.h>

#include <deque>

#include "server/registry.h"
#include "server/test_bench.h"
#include "server/test_store.h"

namespace berth::server {
namespace {

// Writes wait until the test lets them through: as when the disk is slow.
class HeldStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool is_held = false;
  mutable int whole_reads = 0;  // of the Services
  void release() {
    is_held = false;
    for (auto& [write, done] : std::exchange(waiting_, {})) inner().submit(std::move(write), std::move(done));
  }

  void submit(store::WriteRequest write, std::function<void(store::WriteResult)> done) override {
    if (!is_held) return inner().submit(std::move(write), std::move(done));
    waiting_.emplace_back(std::move(write), std::move(done));
  }
  Result<store::ListPage> list(const store::ListQuery& query) const override {
    if (query.resource == "services") ++whole_reads;
    return inner().list(query);
  }
  Result<std::unique_ptr<store::Cursor>> open_cursor(const store::ListQuery& query) const override {
    if (query.resource == "services") ++whole_reads;
    return inner().open_cursor(query);
  }

 private:
  std::deque<std::pair<store::WriteRequest, std::function<void(store::WriteResult)>>> waiting_;
};

class AllocationsOfServices : public testing::Test {
 protected:
  explicit AllocationsOfServices(store::StoreOptions options = {}) : bench(std::move(options)) {}

  struct Answered {
    int code = 0;  // 0: not yet
    Json object;
    std::string message;
  };
  using AnsweredPtr = std::shared_ptr<Answered>;

  Done take(const AnsweredPtr& into) {
    return [into](ApiResult<Answer> answer) {
      into->code = answer ? answer->code : answer.error().code;
      if (!answer) into->message = answer.error().message;
      if (answer && answer->object) into->object = *parse_json(answer->object->bytes);
    };
  }
  ObjectTarget target(const std::string& name) {
    return {api::find_resource("", "v1", "services"), "default", name, ""};
  }
  AnsweredPtr create(const std::string& name, const std::string& spec, WriteOptions options = {}) {
    const auto answered = std::make_shared<Answered>();
    Json body = *parse_json(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
                            R"("},"spec":)" + spec + "}");
    rules_of(target(name)).set_defaults(body);
    registry.create(target(name), std::move(body), std::move(options), take(answered));
    return answered;
  }
  AnsweredPtr change(const std::string& name, const std::string& member, const Json& value) {
    const auto answered = std::make_shared<Answered>();
    const auto set = [member, value](const Json& current) -> ApiResult<Json> {
      Json next = current;
      next["spec"][member] = value;
      rules_of("", "services").set_defaults(next);
      return next;
    };
    registry.modify(target(name), set, {}, take(answered));
    return answered;
  }
  AnsweredPtr remove(const std::string& name) {
    const auto answered = std::make_shared<Answered>();
    registry.remove(target(name), {}, {}, take(answered));
    return answered;
  }
  static const api::KindRules& rules_of(const ObjectTarget& of) { return server::rules_of(of); }
  static const api::KindRules& rules_of(std::string_view group, std::string_view plural) {
    return api::rules_of(group, plural);
  }
  static std::int64_t node_port_of(const AnsweredPtr& answered, std::size_t n = 0) {
    const JsonArray& ports = answered->object.part("spec").items_at("ports");
    return n < ports.size() ? ports[n].int_at("nodePort") : -1;
  }
  static std::string with_port(const std::string& number) {
    return R"({"type":"NodePort","ports":[{"port":80,"nodePort":)" + number + "}]}";
  }

  ServerBench bench;
  HeldStore store{*bench.store};
  Registry registry{{store, bench.executor, bench.clock, *bench.random, bench.gates, api::accept_any_cel}, 0};
};

TEST_F(AllocationsOfServices, TwoCreatesAtOnceNeverGetTheSame) {
  store.is_held = true;
  const AnsweredPtr first = create("a", with_port("30080")), second = create("b", with_port("30080"));
  EXPECT_EQ(first->code, 0) << "not stored yet";
  EXPECT_EQ(second->code, 422);
  EXPECT_NE(second->message.find(
                "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"),
            std::string::npos)
      << second->message;
  const AnsweredPtr address = create("c", R"({"clusterIP":"10.96.9.9","ports":[{"port":80}]})");
  EXPECT_EQ(create("d", R"({"clusterIP":"10.96.9.9","ports":[{"port":80}]})")->code, 422);
  store.release();
  EXPECT_EQ(first->code, 201);
  EXPECT_EQ(address->code, 201);
  EXPECT_EQ(create("e", with_port("30080"))->code, 422) << "it is stored now";
}

// All of the range is asked for while nothing is stored.
TEST_F(AllocationsOfServices, PortsThatAreGivenAtOnceDiffer) {
  constexpr std::size_t kRange = 32767 - 30000 + 1, kPortsEach = 64;
  std::string ports;
  for (std::size_t i = 0; i < kPortsEach; ++i)
    ports +=
        (i ? "," : "") + (R"({"name":"p)" + std::to_string(i) + R"(","port":)" + std::to_string(i + 1)) + "}";
  store.is_held = true;
  std::vector<AnsweredPtr> made;
  for (std::size_t n = 0; n <= kRange / kPortsEach; ++n)
    made.push_back(create("s" + std::to_string(n), R"({"type":"NodePort","ports":[)" + ports + "]}"));
  store.release();
  EXPECT_EQ(made.back()->code, 422) << "16 ports are left";
  EXPECT_NE(made.back()->message.find("failed to allocate a nodePort: range is full"), std::string::npos);
  made.pop_back();
  std::set<std::int64_t> given;
  std::set<std::string> addresses;
  for (const AnsweredPtr& one : made) {
    ASSERT_EQ(one->code, 201) << one->message;
    addresses.emplace(one->object.part("spec").string_at("clusterIP"));
    for (std::size_t i = 0; i < kPortsEach; ++i) given.insert(node_port_of(one, i));
  }
  EXPECT_EQ(given.size(), made.size() * kPortsEach);
  EXPECT_EQ(addresses.size(), made.size());
}

TEST_F(AllocationsOfServices, WhatIsNotStoredIsFree) {
  WriteOptions dry;
  dry.dry_run = true;
  EXPECT_EQ(create("a", with_port("30080"), dry)->code, 201);
  EXPECT_EQ(create("a", with_port("30080"))->code, 201);
  // Refused after its turn, as its name is taken.
  EXPECT_EQ(create("a", with_port("30081"))->code, 409);
  EXPECT_EQ(create("b", with_port("30081"))->code, 201);
  EXPECT_EQ(change("a", "type", "ClusterIP")->code, 200);
  EXPECT_EQ(create("c", with_port("30080"))->code, 201) << "another type has no port";
}

TEST_F(AllocationsOfServices, AnUpdateTakesWhatNoOtherIsGiven) {
  EXPECT_EQ(create("a", R"({"ports":[{"port":80}]})")->code, 201);
  store.is_held = true;
  const AnsweredPtr typed = change("a", "type", "NodePort");
  const AnsweredPtr made = create("b", R"({"type":"NodePort","ports":[{"port":80}]})");
  store.release();
  EXPECT_EQ(typed->code, 200) << typed->message;
  EXPECT_EQ(made->code, 201);
  EXPECT_NE(node_port_of(typed), node_port_of(made));
}

TEST_F(AllocationsOfServices, AWriteReadsOnlyWhatHasChanged) {
  for (int n = 0; n < 20; ++n)
    ASSERT_EQ(create("s" + std::to_string(n), with_port(std::to_string(30100 + n)))->code, 201);
  EXPECT_EQ(change("s0", "type", "ClusterIP")->code, 200);
  EXPECT_EQ(remove("s1")->code, 200);
  EXPECT_EQ(create("a", with_port("30100"))->code, 201);
  EXPECT_EQ(create("b", with_port("30101"))->code, 201);
  EXPECT_EQ(create("c", with_port("30101"))->code, 422);
  EXPECT_EQ(create("c", with_port("30102"))->code, 422);
  EXPECT_EQ(store.whole_reads, 1);
}

class AllocationsBehindAShortWindow : public AllocationsOfServices {
 protected:
  AllocationsBehindAShortWindow() : AllocationsOfServices(of_events(4)) {}
  static store::StoreOptions of_events(std::size_t count) {
    store::StoreOptions options;
    options.watch_window_events = count;
    return options;
  }
};

TEST_F(AllocationsBehindAShortWindow, AllIsReadWhenEventsAreMissing) {
  EXPECT_EQ(create("a", with_port("30080"))->code, 201);
  EXPECT_EQ(create("b", with_port("30081"))->code, 201);
  EXPECT_EQ(store.whole_reads, 1);
  EXPECT_EQ(remove("a")->code, 200);
  for (int n = 0; n < 10; ++n) {
    const auto made = std::make_shared<Said>();
    bench.ask("POST", "/api/v1/namespaces/default/configmaps", {},
              R"({"metadata":{"name":"m)" + std::to_string(n) + R"("}})", made);
    ASSERT_EQ(made->response.status, 201) << made->response.body;
  }
  EXPECT_EQ(create("c", with_port("30080"))->code, 201) << "its Service was deleted";
  EXPECT_EQ(create("d", with_port("30081"))->code, 422);
  EXPECT_EQ(store.whole_reads, 2);
}

TEST_F(AllocationsOfServices, APortNamedTwiceIsRefused) {
  const auto said = [&](const std::string& ports, const std::string& more = "") {
    return create("a", R"({"type":"LoadBalancer",)" + more + R"("ports":[)" + ports + "]}")->message;
  };
  const std::string web = R"({"name":"w","port":80,"nodePort":30080})";
  EXPECT_NE(said(web + R"(,{"name":"u","port":81,"nodePort":30080,"protocol":"UDP"})")
                .find("spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated"),
            std::string::npos);
  EXPECT_NE(said(web + R"(,{"name":"u","port":81,"nodePort":30080})")
                .find("spec.ports[1].nodePort: Duplicate value: 30080"),
            std::string::npos);
  const std::string local = R"("externalTrafficPolicy":"Local","healthCheckNodePort":)";
  EXPECT_NE(said(web, local + "30080,").find("spec.healthCheckNodePort: Invalid value: 30080: provided port"),
            std::string::npos);
  EXPECT_NE(said(web, local + "80,").find("is not in the valid range"), std::string::npos);
  EXPECT_NE(said(web, R"("healthCheckNodePort":30090,)").find("may only be set when `type` is"),
            std::string::npos);
  EXPECT_EQ(said(web + R"(,{"name":"u","port":80,"nodePort":30080,"protocol":"UDP"})", local + "30090,"), "");
  EXPECT_EQ(create("b", with_port("30090"))->code, 422) << "the port for checks of health is taken too";
  EXPECT_NE(change("a", "healthCheckNodePort", 30091)
                ->message.find("spec.healthCheckNodePort: Forbidden: field is immutable"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::server
