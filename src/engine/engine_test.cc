#include "engine/engine.h"

#include <gtest/gtest.h>

#include "client/request_writes.h"
#include "engine/loop.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/marked_create.h"

namespace berth::engine {
namespace {

using api::Kind;
using client::Effects;
using client::View;
using testing::EngineFixture;
using testing::InjectedFault;
using testing::MarkedCreate;

// A reconciler of pods with decisions that the test sets.
class Scripted final : public client::Reconciler {
 public:
  using Decide = std::function<Effects(const View&, const api::ObjectKey&, Time)>;
  Scripted(Decide decide, std::vector<client::Interest> interests)
      : decide_(std::move(decide)), interests_(std::move(interests)) {}
  std::string_view name() const override { return "scripted"; }
  std::vector<client::Interest> interests() const override { return interests_; }
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    return decide_(view, key, now);
  }
  void on_outcome(const View&, const api::ObjectKey&, const client::Outcome& outcome, Time) override {
    if (settled) settled(outcome);
  }

  std::function<void(const client::Outcome&)> settled;

 private:
  Decide decide_;
  std::vector<client::Interest> interests_;
};

void add(EngineFixture& fixture, Scripted::Decide decide, std::vector<client::Interest> interests) {
  fixture.engine.add(std::make_unique<Scripted>(std::move(decide), std::move(interests)));
}
void add(EngineFixture& fixture, Scripted::Decide decide) {
  add(fixture, std::move(decide), {client::itself(Kind::Pod)});
}

constexpr const char* kPodA = R"({"metadata":{"namespace":"d","name":"a"}})";
const api::ObjectKey kKeyA{Kind::Pod, "d", "a", {}};

client::Write label(const api::ObjectKey& key, std::string_view value, std::uint64_t if_version = 0) {
  Json patch = Json::object();
  patch["metadata"]["labels"]["v"] = value;
  return client::merge_patch(key, std::move(patch), "", if_version);
}

std::string label_of(const api::Pod* pod) {
  if (!pod) return "gone";
  const auto found = pod->meta.labels.find("v");
  return found == pod->meta.labels.end() ? "" : found->second;
}

// Labels the pod "done", on the version it saw.
Effects label_once(const View& view, const api::ObjectKey& key) {
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  if (!pod || label_of(pod) == "done") return Effects::nothing();
  return Effects::write(key, label(key, "done", pod->meta.resource_version));
}

TEST(Engine, NoDeciderRunsBeforeEveryListArrived) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture,
      [&](const View& view, const api::ObjectKey&, Time) {
        ++runs;
        EXPECT_EQ(view.nodes.size(), 1u);
        return Effects::nothing();
      },
      {client::itself(Kind::Pod),
       {Kind::Node, {}, [](const View&, const client::Delta&, std::vector<api::ObjectKey>&) {}}});
  fixture.api.put(Kind::Pod, kPodA);
  fixture.api.put(Kind::Node, R"({"metadata":{"name":"n"}})");
  fixture.start();
  ASSERT_TRUE(fixture.api.deliver(0));
  fixture.step();
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(fixture.engine.synced());
  ASSERT_TRUE(fixture.api.deliver(1));
  fixture.step();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(fixture.engine.synced());
}

TEST(Engine, OneResourceIsWatchedOnceForSeveralDeciders) {
  EngineFixture fixture;
  const auto nothing = [](const View&, const api::ObjectKey&, Time) { return Effects::nothing(); };
  add(fixture, nothing);
  add(fixture, nothing);
  fixture.start();
  EXPECT_EQ(fixture.api.watches(), 1u);
}

TEST(Engine, ARelistDeletesWhatItDoesNotName) {
  EngineFixture fixture;
  std::vector<std::string> seen;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    seen.push_back(key.name + (view.pods.find(key.ns, key.name) ? "" : " gone"));
    return Effects::nothing();
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  fixture.start();
  fixture.run_until_idle();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.api.relist(api::ref_of(Kind::Pod));
  fixture.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "a gone"}));
}

// Pods whose list has three parts; the engine steps after each.
void put_pods_of_three_parts(EngineFixture& fixture, const std::string& prefix) {
  for (std::size_t i = 0; i < 2 * kListPartObjects + 1; ++i)
    fixture.api.put(Kind::Pod,
                    R"({"metadata":{"namespace":"d","name":")" + prefix + std::to_string(10000 + i) + "\"}}");
  fixture.engine.on_message([&fixture] { fixture.step(); });
}

TEST(Engine, TheFirstListEntersTheViewInParts) {
  EngineFixture fixture;
  std::size_t runs = 0;
  std::set<std::size_t> seen, entered;
  add(fixture, [&](const View& view, const api::ObjectKey&, Time) {
    ++runs;
    seen.insert(view.pods.size());
    return Effects::nothing();
  });
  put_pods_of_three_parts(fixture, "p");
  fixture.engine.on_message([&] {
    fixture.step();
    entered.insert(fixture.engine.view().pods.size());
  });
  fixture.start();
  fixture.run_until_idle();
  const std::size_t all = 2 * kListPartObjects + 1;
  EXPECT_EQ(entered, (std::set<std::size_t>{kListPartObjects, 2 * kListPartObjects, all}));
  EXPECT_EQ(seen, std::set<std::size_t>{all});
  EXPECT_EQ(runs, all);
}

TEST(Engine, DecidersSeeALaterListWholeOrNotAtAll) {
  EngineFixture fixture;
  std::set<std::size_t> seen;
  add(fixture, [&](const View& view, const api::ObjectKey&, Time) {
    seen.insert(view.pods.size());
    return Effects::nothing();
  });
  put_pods_of_three_parts(fixture, "p");
  fixture.start();
  fixture.run_until_idle();
  fixture.api.put(Kind::Pod, kPodA);  // in the first part
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "p10000");
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "p" + std::to_string(10000 + kListPartObjects));
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "p" + std::to_string(10000 + 2 * kListPartObjects));
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"q"}})");
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"c","name":"z"}})");
  fixture.api.relist(api::ref_of(Kind::Pod));
  fixture.run_until_idle();
  EXPECT_EQ(seen, std::set<std::size_t>{2 * kListPartObjects + 1});
  EXPECT_TRUE(fixture.engine.view().pods.find("c", "z"));
  EXPECT_FALSE(fixture.engine.view().pods.find("d", "p10000"));
}

TEST(Engine, AnAnswerIsInTheViewBeforeTheKeyRunsAgainAndItsEchoIsIgnored) {
  EngineFixture fixture;
  std::vector<std::string> seen;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    seen.push_back(label_of(view.pods.find(key.ns, key.name)));
    return label_once(view, key);
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"", "done"}));
}

TEST(Engine, AKeyDoesNotRunWhileItsWritesAreUnderWay) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    ++runs;
    return label_once(view, key);
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.api.deliver(0);
  fixture.step();
  fixture.api.change(Kind::Pod, "d", "a", R"({"spec":{"x":1}})");
  fixture.api.deliver(0);
  fixture.step();
  EXPECT_EQ(runs, 1);
  fixture.run_until_idle();
  EXPECT_GT(runs, 1);
}

struct FaultCase {
  const char* name;
  std::vector<InjectedFault> faults;  // of the requests, in order; none afterwards
  std::vector<std::string> log;
};

TEST(Engine, FaultsOfAWriteAreHandledByTheirKind) {
  const std::string patch = "patch v1/pods d/a", get = "get v1/pods d/a";
  const std::vector<FaultCase> cases = {
      {"none", {}, {patch}},
      {"not sent", {InjectedFault::NotSent, InjectedFault::NotSent}, {patch}},
      {"throttled", {InjectedFault::Throttled}, {patch}},
      {"server error", {InjectedFault::ServerError}, {patch}},
      {"conflict", {InjectedFault::Conflict}, {get, patch}},
      {"lost but done", {InjectedFault::LostDone}, {patch, get}},
      {"lost, not done", {InjectedFault::LostNotDone}, {get, patch}},
      {"lost, and the read fails",
       {InjectedFault::LostDone, InjectedFault::NotSent, InjectedFault::LostNotDone},
       {patch, get}},
  };
  for (const FaultCase& test : cases) {
    SCOPED_TRACE(test.name);
    EngineFixture fixture;
    std::size_t next = 0;
    fixture.api.fault = [&](const client::ApiRequest&) {
      return next < test.faults.size() ? test.faults[next++] : InjectedFault::None;
    };
    add(fixture, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
    fixture.api.put(Kind::Pod, kPodA);
    fixture.start();
    fixture.advance(Duration::seconds(10));
    EXPECT_EQ(fixture.api.log, test.log);
    EXPECT_EQ(label_of(fixture.engine.view().pods.find("d", "a")), "done");
  }
}

TEST(Engine, AWriteIsRepeatedABoundedNumberOfTimesThenTheKeyBacksOff) {
  EngineFixture fixture;
  int sent = 0;
  fixture.api.fault = [&](const client::ApiRequest&) { return ++sent, InjectedFault::Throttled; };
  add(fixture, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  // 50 + 100 + 200 + 400 ms between the five attempts.
  fixture.advance(Duration::millis(750));
  EXPECT_EQ(sent, 5);
  EXPECT_EQ(fixture.engine.counters().deciders[0].failed_runs, 1u);
  fixture.advance(Duration::millis(10));
  EXPECT_EQ(sent, 6) << "the key runs again 10 ms later";
}

TEST(Engine, ARefusedWriteEndsItsChainAndTheKeyBacksOff) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture, [&](const View&, const api::ObjectKey& key, Time) {
    ++runs;
    Effects effects =
        Effects::write({Kind::Pod, "d", "absent", {}}, label({Kind::Pod, "d", "absent", {}}, "x"));
    effects.then(label(key, "never"));
    return effects;
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(runs, 1);
  fixture.advance(Duration::millis(35));
  EXPECT_EQ(runs, 3) << "10 ms, then 20 ms";
  EXPECT_EQ(label_of(fixture.engine.view().pods.find("d", "a")), "");
}

TEST(Engine, WritesOfAChainUseTheVersionOfTheAnswerBefore) {
  EngineFixture fixture;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (label_of(pod) == "2") return Effects::nothing();
    Effects effects = Effects::write(key, label(key, "1", pod->meta.resource_version));
    client::Write second = label(key, "2");
    second.on_previous_version = true;
    return effects.then(second);
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  ASSERT_EQ(fixture.api.arrived.size(), 2u);
  EXPECT_EQ(fixture.api.arrived[0].body, R"({"metadata":{"labels":{"v":"1"},"resourceVersion":"101"}})");
  EXPECT_EQ(fixture.api.arrived[1].body, R"({"metadata":{"labels":{"v":"2"},"resourceVersion":"102"}})");
}

TEST(Engine, AFineReasonCountsAsSuccess) {
  EngineFixture fixture;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    if (label_of(view.pods.find("d", "a")) == "done") return Effects::nothing();
    Effects effects = Effects::write(key, client::delete_object({Kind::Pod, "d", "absent", {}}, ""));
    return effects.then(label(key, "done"));
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(label_of(fixture.engine.view().pods.find("d", "a")), "done");
}

TEST(Engine, WhatADeleteRemovedIsGoneFromTheViewEvenWhenOldNewsCome) {
  EngineFixture fixture;
  std::vector<std::string> seen;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    seen.push_back(pod ? "there" : "gone");
    return pod ? Effects::write(key, client::delete_object(key, pod->meta.uid)) : Effects::nothing();
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.api.deliver(0);
  fixture.step();
  fixture.api.change(Kind::Pod, "d", "a", R"({"spec":{"x":1}})");
  fixture.api.answer();  // the delete, before the change is seen
  fixture.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"there", "gone"}));
}

TEST(Engine, AnAnswerThatComesAfterTheNewsOfTheDeletionBringsNothingBack) {
  EngineFixture fixture;
  add(fixture, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.api.deliver(0);
  fixture.step();
  fixture.api.carry_out_only();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.api.deliver(0);
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().pods.size(), 0u);
}

// A list is complete: a response from before it is applied only to an object that the list contains too.
TEST(Engine, AnAnswerFromBeforeAListBringsNothingBack) {
  for (const bool replaced : {true, false}) {
    EngineFixture fixture;
    add(fixture, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
    fixture.api.put(Kind::Pod, kPodA);
    fixture.start();
    ASSERT_TRUE(fixture.api.deliver(0));
    fixture.step();
    ASSERT_TRUE(fixture.api.carry_out_only());
    fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
    if (replaced)
      fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"a","labels":{"v":"done"}}})");
    fixture.api.relist(api::ref_of(Kind::Pod));
    ASSERT_TRUE(fixture.api.deliver(0));
    fixture.step();
    ASSERT_TRUE(fixture.api.release());
    fixture.run_until_idle();
    const api::Pod* seen = fixture.engine.view().pods.find("d", "a");
    const Json* there = fixture.api.find(Kind::Pod, "d", "a");
    ASSERT_EQ(seen != nullptr, there != nullptr);
    if (seen) {
      EXPECT_EQ(*seen->raw, to_string(*there));
    }
  }
}

// The same for an object that no watch ever delivered.
TEST(Engine, ACreateAnsweredAfterAListWithoutItBringsNothingBack) {
  EngineFixture fixture;
  bool asked = false;
  add(fixture,
      [&](const View&, const api::ObjectKey&, Time) {
        if (std::exchange(asked, true)) return Effects::nothing();
        Json claim = Json::object();
        claim["metadata"]["name"] = "c";
        return Effects::write(kKeyA, client::create(Kind::ResourceClaim, "d", claim));
      },
      {client::itself(Kind::Pod),
       {Kind::ResourceClaim, {}, [](const View&, const client::Delta&, std::vector<api::ObjectKey>&) {}}});
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  while (fixture.api.deliver(0) || fixture.api.deliver(1)) fixture.step();
  ASSERT_TRUE(fixture.api.carry_out_only());
  fixture.api.remove(api::ref_of(Kind::ResourceClaim), "d", "c");
  fixture.api.relist(api::ref_of(Kind::ResourceClaim));
  while (fixture.api.deliver(0) || fixture.api.deliver(1)) fixture.step();
  ASSERT_TRUE(fixture.api.release());
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().claims.size(), 0u);
}

TEST(Engine, AFailureKeepsWhatDidNotBeginFromBeginning) {
  for (const bool stops : {false, true}) {
    EngineFixture fixture;
    fixture.api.put(Kind::Pod, kPodA);
    int runs = 0;
    const api::ObjectKey absent{Kind::Pod, "d", "absent", {}};
    add(fixture, [&](const View&, const api::ObjectKey& key, Time) {
      if (key.name != "a" || ++runs > 1) return Effects::nothing();
      Effects effects;
      effects.stop_on_failure = stops;
      effects.chains.push_back({absent, {label(absent, "taken")}});
      for (std::size_t i = 0; i < kWritesInFlightMax; ++i)
        effects.chains.push_back({absent, {label(absent, "taken")}});
      effects.chains.push_back({key, {label(key, "taken")}});
      return effects;
    });
    fixture.start();
    fixture.run_until_idle();
    EXPECT_EQ(label_of(fixture.engine.view().pods.find("d", "a")), stops ? "" : "taken");
  }
}

TEST(Engine, WhereWritesWaitChainsThatBeganAndUrgentOnesGoFirst) {
  EngineFixture fixture;
  const auto put = [&](const std::string& name) {
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + "\"}}");
    return api::ObjectKey{Kind::Pod, "d", name, {}};
  };
  Effects effects;
  for (std::size_t i = 0; i < kWritesInFlightMax; ++i) {
    const api::ObjectKey key = put("begun-" + std::to_string(i));
    effects.chains.push_back({key, {label(key, "1"), label(key, "2")}});
  }
  for (const bool urgent : {false, true}) {
    const api::ObjectKey key = put(urgent ? "urgent" : "new");
    effects.chains.push_back({key, {label(key, "1")}, urgent});
  }
  int runs = 0;
  add(fixture, [&](const View&, const api::ObjectKey& key, Time) {
    return key.name == "new" && runs++ == 0 ? effects : Effects::nothing();
  });
  fixture.start();
  fixture.run_until_idle();
  ASSERT_EQ(fixture.api.arrived.size(), 2 * kWritesInFlightMax + 2);
  EXPECT_EQ(fixture.api.arrived.front().name, "urgent");
  EXPECT_EQ(fixture.api.arrived[kWritesInFlightMax + 1].name, "begun-0") << "before the second last begins";
  EXPECT_EQ(fixture.api.arrived.back().name, "new");
}

// Passes on everything, and says of pods named "held-…" that it holds them.
class HoldingClient final : public client::ApiClient {
 public:
  explicit HoldingClient(testing::FakeApi& inner) : inner_(inner) {}
  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override {
    inner_.submit(std::move(request), std::move(done));
  }
  bool holds(const client::ApiRequest& request) const override { return request.name.starts_with("held-"); }
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    return inner_.list_and_watch(std::move(resource), receiver);
  }

 private:
  testing::FakeApi& inner_;
};

TEST(EffectExecutor, WhatTheClientHoldsTakesNoPlaceAmongTheWritesInFlight) {
  EngineFixture fixture;  // of which only the API server is used
  HoldingClient client(fixture.api);
  Engine engine(client, {.writes_in_flight_max = 2});
  SharedInformers informers(client);
  fixture.api.put(Kind::Pod, kPodA);
  Effects effects;
  for (const char* name : {"sent-1", "sent-2", "sent-3", "held-1", "held-2", "sent-4", "held-3"}) {
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + std::string(name) + "\"}}");
    const api::ObjectKey key{Kind::Pod, "d", name, {}};
    effects.chains.push_back({key, {label(key, "1")}});
  }
  int runs = 0;
  engine.add(std::make_unique<Scripted>(
      [&](const View&, const api::ObjectKey& key, Time) {
        return key.name == "a" && runs++ == 0 ? effects : Effects::nothing();
      },
      std::vector{client::itself(Kind::Pod)}));
  engine.attach_to(informers);
  informers.start();
  while (fixture.api.deliver(0)) testing::step_to_rest(engine, fixture.clock.now());
  EXPECT_EQ(fixture.api.requests_waiting(), 5u) << "three held ones beside two in flight";
  for (std::size_t answered = 0; fixture.api.answer(); ++answered) {
    testing::step_to_rest(engine, fixture.clock.now());
    EXPECT_LE(fixture.api.requests_waiting(), 4u);
    ASSERT_LT(answered, 7u);
  }
  EXPECT_EQ(fixture.api.arrived.size(), 7u);
}

TEST(Engine, AMarkedWriteIsFollowedUntilItsFateIsKnown) {
  const std::vector<InjectedFault> long_outage(20, InjectedFault::LostNotDone);
  for (const std::vector<InjectedFault>& faults : {std::vector<InjectedFault>{},
                                                   {InjectedFault::LostDone},
                                                   {InjectedFault::LostNotDone},
                                                   {InjectedFault::ServerError},
                                                   long_outage}) {
    MarkedCreate create(faults);
    create.fixture.advance(Duration::minutes(5));
    EXPECT_EQ(create.said(), "mine");
    EXPECT_TRUE(create.ok);
    EXPECT_EQ(create.fixture.engine.counters().writes.refused, 0u);
  }
}

TEST(Engine, AMarkedWriteThatMeetsAnotherOnesObjectIsNotAccepted) {
  MarkedCreate create({});
  create.fixture.api.put(Kind::Pod,
                         R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"somebody else"}})");
  create.fixture.advance(Duration::minutes(5));
  EXPECT_EQ(create.said(), "somebody else");
  EXPECT_FALSE(create.ok);
  EXPECT_TRUE(create.fixture.engine.view().pods.find("d", "made")) << "what stands there is in the view";
}

// Keeps one BindRequest in memory, and passes on everything else.
class KeepingClient final : public client::ApiClient {
 public:
  KeepingClient(testing::FakeApi& inner, api::BindRequestPtr kept) : inner_(inner), kept_(std::move(kept)) {}
  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override {
    client::ApiReply reply;
    reply.code = request.verb == client::Verb::Get ? 200 : 409;
    if (reply.ok())
      reply.kept = kept_;
    else
      reply.reason = "AlreadyExists";
    done(reply);
  }
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    return inner_.list_and_watch(std::move(resource), receiver);
  }

 private:
  testing::FakeApi& inner_;
  const api::BindRequestPtr kept_;
};

// The record of a gang was seen before the answer to its create, which was lost.
TEST(Engine, AMarkIsFoundInWhatIsKeptInMemory) {
  for (const std::string decision : {"mine", "another"}) {
    EngineFixture fixture;  // of which only the API server is used
    api::BindRequest request;
    request.meta.ns = "d";
    request.meta.name = "a";
    request.meta.uid = "u";
    request.meta.resource_version = 1000;
    request.decision_id = decision;
    const auto kept = std::make_shared<const api::BindRequest>(request);
    KeepingClient client(fixture.api, kept);
    Engine engine(client, {});
    SharedInformers informers(client);
    client::Write write = client::keep_request(request);
    write.mark = client::Write::Mark{{"spec", "decisionID"}, "mine"};
    int runs = 0;
    engine.add(std::make_unique<Scripted>(
        [&](const View&, const api::ObjectKey& key, Time) {
          return key == kKeyA && runs++ == 0 ? Effects::write(key, write) : Effects::nothing();
        },
        std::vector{client::itself(Kind::Pod), client::itself(Kind::BindRequest)}));
    engine.attach_to(informers);
    informers.start();
    fixture.api.put(Kind::Pod, kPodA);
    while (fixture.api.deliver_all()) testing::step_to_rest(engine, fixture.clock.now());
    EXPECT_EQ(engine.counters().writes.accepted, decision == "mine" ? 1u : 0u);
    EXPECT_EQ(engine.view().bind_requests.find("d", "a"), kept.get()) << "in either case";
  }
}

TEST(Engine, ADeadlineWakesItsKey) {
  EngineFixture fixture;
  std::vector<std::int64_t> at;
  const Time start = fixture.clock.now();
  add(fixture, [&](const View&, const api::ObjectKey&, Time now) {
    at.push_back((now - start).whole_seconds());
    Effects effects;
    effects.wake_at = now + Duration::seconds(7);
    return effects;
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.advance(Duration::seconds(20));
  EXPECT_EQ(at, (std::vector<std::int64_t>{0, 7, 14}));
}

TEST(Engine, AClockThatIsSetBackDelaysNothing) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture, [&](const View&, const api::ObjectKey&, Time now) {
    ++runs;
    Effects effects;
    effects.wake_at = now + Duration::seconds(7);
    return effects;
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  fixture.clock.advance(Duration::minutes(-60));
  fixture.run_until_idle();
  EXPECT_EQ(runs, 2);
  fixture.advance(Duration::seconds(7));
  EXPECT_EQ(runs, 3);
}

TEST(Engine, ASignalFromOutsideRunsItsKey) {
  EngineFixture fixture;
  std::vector<std::string> seen;
  add(fixture, [&](const View&, const api::ObjectKey& key, Time) {
    seen.push_back(key.name);
    return Effects::nothing();
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.engine.wake("scripted", kKeyA);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(seen, std::vector<std::string>{"a"});
  fixture.engine.wake("scripted", kKeyA);
  fixture.engine.wake("nobody", kKeyA);
  fixture.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "a"}));
}

TEST(Engine, AFollowerRunsNothingAndAStoppingEngineFinishesWhatIsUnderWay) {
  EngineFixture fixture;
  add(fixture, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.engine.lead(Leading::No);
  fixture.start();
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.log.empty());
  fixture.lead({7});
  fixture.step();
  EXPECT_EQ(fixture.api.requests_waiting(), 0u) << "the list of before the term is not enough";
  ASSERT_TRUE(fixture.api.deliver(1));
  fixture.step();
  EXPECT_EQ(fixture.api.requests_waiting(), 1u);

  const Time deadline = fixture.clock.now() + Duration::seconds(2);
  fixture.engine.begin_stop(deadline);
  EXPECT_FALSE(fixture.engine.stopped(fixture.clock.now()));
  EXPECT_TRUE(fixture.engine.stopped(deadline));
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.engine.stopped(fixture.clock.now()));
  EXPECT_EQ(fixture.api.log.size(), 1u) << "nothing is done for b any more";
}

// Labels every pod, one decision a pod.
class Labeller final : public client::StatefulDecider {
 public:
  std::string_view name() const override { return "labeller"; }
  std::vector<client::Interest> interests() const override { return {{Kind::Pod, {}, {}}}; }
  void begin_leading(const View&, client::Leadership leadership, Time) override {
    applied.push_back("term " + std::to_string(leadership.epoch));
  }
  void apply(const View&, const client::Delta& delta, Time) override {
    applied.push_back(delta.key.name + (delta.before ? " changed" : " new"));
    if (!delta.before) todo.push_back(delta.key);
  }
  Effects decide(const View&, Time) override {
    if (todo.empty()) return Effects::nothing();
    Effects effects = Effects::write(todo.back(), label(todo.back(), "done"));
    effects.decision_id = todo.back().name;
    todo.pop_back();
    return effects;
  }
  void on_outcome(const View& view, const client::Outcome& outcome, Time) override {
    const client::ChainOutcome& chain = outcome.chains.at(0);
    settled.push_back(outcome.decision_id + (chain.ok ? " ok " : " failed ") + chain.last.reason +
                      label_of(view.pods.find("d", chain.key.name)));
  }
  std::vector<std::string> applied, settled;
  std::vector<api::ObjectKey> todo;
};

TEST(Engine, AStatefulDeciderMeetsEveryChangeAndEveryOutcome) {
  EngineFixture fixture;
  Labeller labeller;
  fixture.engine.add(labeller);
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.api.deliver(0);
  fixture.step();
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.run_until_idle();
  EXPECT_EQ(labeller.applied,
            (std::vector<std::string>{"a new", "b new", "term 0", "b changed", "a changed"}));
  EXPECT_EQ(labeller.settled, (std::vector<std::string>{"b ok done", "a failed NotFoundgone"}));
}

TEST(Engine, AStatefulDeciderLetsReconcilersRunBetweenItsDecisions) {
  for (const bool shared : {false, true}) {
    EngineFixture fixture;
    Labeller labeller;
    fixture.engine.add(labeller);
    if (shared) add(fixture, [](const View&, const api::ObjectKey&, Time) { return Effects::nothing(); });
    for (int i = 10; i < 70; ++i)
      fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p)" + std::to_string(i) + R"("}})");
    fixture.start();
    fixture.api.deliver(0);
    fixture.engine.step(fixture.clock.now());
    EXPECT_EQ(labeller.todo.size(), shared ? 60 - kSharedDecisionsPerStepMax : 0);
    fixture.run_until_idle();
    EXPECT_TRUE(labeller.todo.empty());
  }
}

// A follower's view may be behind the writes of its predecessor: it leads on lists of its own term.
TEST(Engine, ATermBeginsWithListsOfItsOwn) {
  EngineFixture fixture;
  Labeller labeller;
  fixture.engine.add(labeller);
  std::vector<std::string> ran;
  add(fixture,
      [&](const View& view, const api::ObjectKey& key, Time) {
        ran.push_back(key.name + (view.pods.find(key.ns, key.name) ? "" : " gone"));
        return Effects::nothing();
      },
      {client::itself(Kind::Pod), client::itself(Kind::Node)});
  fixture.engine.lead(Leading::No);
  fixture.api.put(Kind::Pod, kPodA);
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(labeller.applied, (std::vector<std::string>{"a new", "b new"})) << "the model is warm";
  EXPECT_TRUE(fixture.engine.synced());

  // Changes that the follower's watches have not delivered yet.
  fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"c"}})");
  labeller.applied.clear();
  fixture.lead({3});
  ASSERT_TRUE(fixture.api.deliver(2));  // one of two
  fixture.step();
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(fixture.engine.synced()) << "it stays ready";
  ASSERT_TRUE(fixture.api.deliver(3));
  fixture.step();
  EXPECT_EQ(labeller.applied, (std::vector<std::string>{"c new", "a changed", "term 3"}));
  EXPECT_EQ(ran, (std::vector<std::string>{"b", "c"})) << "every key that is there, once";
  EXPECT_GT(fixture.api.requests_waiting(), 0u) << "its deciders act";
}

TEST(Engine, AFollowerKeepsNothingOfWhatCameAndWent) {
  EngineFixture fixture;
  Labeller labeller;
  fixture.engine.add(labeller);
  int asked = 0;
  add(fixture,
      [](const View&, const api::ObjectKey&, Time) {
        ADD_FAILURE() << "a follower decides nothing";
        return Effects::nothing();
      },
      {{Kind::Pod, {}, [&](const View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
          ++asked;
          keys.push_back(delta.key);
        }}});
  fixture.engine.lead(Leading::No);
  fixture.start();
  for (int n = 0; n < 100; ++n) {
    const std::string name = "p" + std::to_string(n);
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"("}})");
    fixture.run_until_idle();
    fixture.engine.wake("scripted", {Kind::Pod, "d", name, {}});
    fixture.api.remove(api::ref_of(Kind::Pod), "d", name);
    fixture.run_until_idle();
  }
  EXPECT_EQ(asked, 200) << "an index that keys come from hears of everything";
  EXPECT_EQ(labeller.applied.size(), 200u);
  const EngineCounters counters = fixture.engine.counters();
  EXPECT_EQ(counters.keys_waiting, 0u);
  EXPECT_EQ(counters.writes.writes + counters.events.noted, 0u);
  EXPECT_EQ(fixture.engine.view().pods.size(), 0u);
  EXPECT_FALSE(fixture.engine.next_wake());
}

TEST(Engine, ATermThatEndsLeavesNothingToRun) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture, [&](const View& view, const api::ObjectKey& key, Time now) {
    ++runs;
    if (key.name == "a") return label_once(view, key);
    Effects effects;
    effects.wake_at = now + Duration::seconds(1);
    return effects;
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  fixture.api.fault = [](const client::ApiRequest&) { return InjectedFault::Conflict; };
  fixture.start();
  while (fixture.api.deliver(0)) fixture.step();
  EXPECT_EQ(runs, 2);
  fixture.engine.lead(Leading::No);
  fixture.advance(Duration::minutes(10));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(fixture.engine.counters().keys_waiting + fixture.engine.counters().keys_running, 0u);
  fixture.api.fault = {};
  fixture.lead({2});
  fixture.run_until_idle();
  EXPECT_EQ(label_of(fixture.engine.view().pods.find("d", "a")), "done");
}

// A new watch does not know that objects existed.
TEST(SharedInformers, AResourceThatIsNotServedAnyMoreTakesNothingAway) {
  EngineFixture fixture;
  int runs = 0;
  add(fixture, [&](const View&, const api::ObjectKey&, Time) { return ++runs, Effects::nothing(); });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  fixture.run_until_idle();
  fixture.lead({2});
  fixture.api.refuse_as_not_served(1);
  fixture.step();
  EXPECT_EQ(fixture.engine.view().pods.size(), 1u);
  EXPECT_EQ(runs, 1) << "it does not lead on a list of before";
  fixture.run_until_idle();
  EXPECT_EQ(runs, 2);
}

TEST(SharedInformers, AResourceThatWasNeverServedHasNoObjects) {
  EngineFixture fixture;
  add(fixture, [](const View&, const api::ObjectKey&, Time) { return Effects::nothing(); });
  fixture.start();
  fixture.api.refuse_as_not_served(0);
  fixture.step();
  EXPECT_TRUE(fixture.engine.synced());
}

TEST(Tombstones, TheLatestAreKnown) {
  Tombstones tombstones;
  for (std::size_t n = 0; n < kTombstonesMax + 2; ++n)
    for (int repeat = 0; repeat < 2; ++repeat) tombstones.add("uid-" + std::to_string(n));
  EXPECT_EQ(tombstones.size(), kTombstonesMax);
  EXPECT_FALSE(tombstones.has("uid-1"));
  EXPECT_TRUE(tombstones.has("uid-2"));
  EXPECT_TRUE(tombstones.has("uid-" + std::to_string(kTombstonesMax + 1)));
}

TEST(Loop, AThreadDrivesTheEngineAndStopsInTime) {
  EngineFixture fixture;
  add(fixture, [](const View&, const api::ObjectKey& key, Time) {
    Effects effects;
    effects.events.push_back({key, "uid", false, "Seen", "", "seen"});
    return effects;
  });
  fixture.api.put(Kind::Pod, kPodA);
  fixture.start();
  const SystemClock clock;
  Loop loop(fixture.engine, clock, "test-engine-loop-name");
  fixture.api.deliver(0);
  while (!loop.synced()) {
  }
  loop.stop(Duration::millis(1));
  EXPECT_EQ(fixture.engine.counters().deciders[0].runs, 1u);
}

// A read tells nothing by being accepted.
TEST(Engine, TheAnswerOfAReadIsToldWhereItIsAskedFor) {
  for (const bool asks : {false, true}) {
    EngineFixture fixture;
    std::vector<std::string> told;
    bool read = false;
    auto scripted = std::make_unique<Scripted>(
        [&](const View&, const api::ObjectKey&, Time) {
          if (std::exchange(read, true)) return Effects::nothing();
          client::Write get;
          get.request = {client::Verb::Get, api::ref_of(Kind::Lease), "kube-system", "l", "", ""};
          get.fine_reasons = {"NotFound"};
          get.answer_to_decider = asks;
          return Effects::write({Kind::Lease, "kube-system", "l", {}}, std::move(get));
        },
        std::vector{client::itself(Kind::Pod)});
    scripted->settled = [&](const client::Outcome& outcome) {
      for (const client::ChainOutcome& chain : outcome.chains)
        told.push_back(chain.key.name + " " + std::to_string(chain.ok) + " " +
                       std::to_string(chain.last.code));
    };
    fixture.engine.add(std::move(scripted));
    fixture.start();
    fixture.api.put(Kind::Pod, kPodA);
    fixture.run_until_idle();
    EXPECT_TRUE(read);
    EXPECT_EQ(told, asks ? std::vector<std::string>{"l 1 404"} : std::vector<std::string>());
  }
}

// A scale has the name and the version of another object.
TEST(Engine, AScaleIsNotTakenForTheObject) {
  const api::ResourceRef sets{"apps", "v1", "replicasets"};
  EngineFixture fixture;
  int run = 0;
  fixture.engine.add(std::make_unique<Scripted>(
      [&](const View&, const api::ObjectKey& key, Time) {
        if (++run > 2) return Effects::nothing();
        client::Write write;
        write.request = {run == 1 ? client::Verb::Get : client::Verb::MergePatch,
                         key.resource,
                         key.ns,
                         key.name,
                         "scale",
                         run == 1 ? "" : R"({"spec":{"replicas":2}})"};
        Effects effects = Effects::write(key, std::move(write));
        effects.wake_at = fixture.clock.now();
        return effects;
      },
      std::vector<client::Interest>{
          {Kind::Other, sets, [](const View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
             keys.push_back(delta.key);
           }}}));
  fixture.api.put(sets, *parse_json(R"({"metadata":{"name":"r","namespace":"d","labels":{"a":"b"}}})"));
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(fixture.api.find(sets, "d", "r")->part("spec").int_at("replicas"), 2);
  const auto seen = fixture.engine.view().find({Kind::Other, "d", "r", sets});
  ASSERT_TRUE(seen);
  EXPECT_EQ(api::meta_of(*seen).labels.size(), 1u);
}

}  // namespace
}  // namespace berth::engine
