#include "control/engine.h"

#include <gtest/gtest.h>

#include "base/known_defects.h"
#include "control/loop.h"
#include "control/testing/engine_fixture.h"

namespace berth::control {
namespace {

using api::Kind;
using client::Effects;
using client::View;
using testing::Fault;
using testing::World;

// A reconciler of pods whose decision the test writes down.
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
  void settle(const View&, const api::ObjectKey&, const client::Outcome& outcome, Time) override {
    if (settled) settled(outcome);
  }

  std::function<void(const client::Outcome&)> settled;

 private:
  Decide decide_;
  std::vector<client::Interest> interests_;
};

void add(World& world, Scripted::Decide decide, std::vector<client::Interest> interests) {
  world.engine.add(std::make_unique<Scripted>(std::move(decide), std::move(interests)));
}
void add(World& world, Scripted::Decide decide) {
  add(world, std::move(decide), {client::itself(Kind::Pod)});
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
  World world;
  int runs = 0;
  add(world,
      [&](const View& view, const api::ObjectKey&, Time) {
        ++runs;
        EXPECT_EQ(view.nodes.size(), 1u);
        return Effects::nothing();
      },
      {client::itself(Kind::Pod),
       {Kind::Node, {}, [](const View&, const client::Delta&, std::vector<api::ObjectKey>&) {}}});
  world.api.put(Kind::Pod, kPodA);
  world.api.put(Kind::Node, R"({"metadata":{"name":"n"}})");
  world.start();
  ASSERT_TRUE(world.api.deliver(0));
  world.step();
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(world.engine.synced());
  ASSERT_TRUE(world.api.deliver(1));
  world.step();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(world.engine.synced());
}

TEST(Engine, OneResourceIsWatchedOnceForSeveralDeciders) {
  World world;
  const auto nothing = [](const View&, const api::ObjectKey&, Time) { return Effects::nothing(); };
  add(world, nothing);
  add(world, nothing);
  world.start();
  EXPECT_EQ(world.api.watches(), 1u);
}

TEST(Engine, ARelistDeletesWhatItDoesNotName) {
  World world;
  std::vector<std::string> seen;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    seen.push_back(key.name + (view.pods.find(key.ns, key.name) ? "" : " gone"));
    return Effects::nothing();
  });
  world.api.put(Kind::Pod, kPodA);
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  world.start();
  world.settle();
  world.api.remove(api::ref_of(Kind::Pod), "d", "a");
  world.api.relist(api::ref_of(Kind::Pod));
  world.settle();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "a gone"}));
}

TEST(Engine, AnAnswerIsInTheViewBeforeTheKeyRunsAgainAndItsEchoIsIgnored) {
  World world;
  std::vector<std::string> seen;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    seen.push_back(label_of(view.pods.find(key.ns, key.name)));
    return label_once(view, key);
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  EXPECT_EQ(seen, (std::vector<std::string>{"", "done"}));
}

TEST(Engine, AKeyDoesNotRunWhileItsWritesAreUnderWay) {
  World world;
  int runs = 0;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    ++runs;
    return label_once(view, key);
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.api.deliver(0);
  world.step();
  world.api.change(Kind::Pod, "d", "a", R"({"spec":{"x":1}})");
  world.api.deliver(0);
  world.step();
  EXPECT_EQ(runs, 1);
  world.settle();
  EXPECT_GT(runs, 1);
}

struct FaultCase {
  const char* name;
  std::vector<Fault> faults;  // of the requests, in order; none afterwards
  std::vector<std::string> log;
};

TEST(Engine, FaultsOfAWriteAreHandledByTheirKind) {
  const std::string patch = "patch v1/pods d/a", get = "get v1/pods d/a";
  const std::vector<FaultCase> cases = {
      {"none", {}, {patch}},
      {"not sent", {Fault::NotSent, Fault::NotSent}, {patch}},
      {"throttled", {Fault::Throttled}, {patch}},
      {"server error", {Fault::ServerError}, {patch}},
      {"conflict", {Fault::Conflict}, {get, patch}},
      {"lost but done", {Fault::LostDone}, {patch, get}},
      {"lost, not done", {Fault::LostNotDone}, {get, patch}},
      {"lost, and the read fails", {Fault::LostDone, Fault::NotSent, Fault::LostNotDone}, {patch, get}},
  };
  for (const FaultCase& test : cases) {
    SCOPED_TRACE(test.name);
    World world;
    std::size_t next = 0;
    world.api.fault = [&](const client::ApiRequest&) {
      return next < test.faults.size() ? test.faults[next++] : Fault::None;
    };
    add(world, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
    world.api.put(Kind::Pod, kPodA);
    world.start();
    world.advance(Duration::seconds(10));
    EXPECT_EQ(world.api.log, test.log);
    EXPECT_EQ(label_of(world.engine.view().pods.find("d", "a")), "done");
  }
}

TEST(Engine, AWriteIsRepeatedABoundedNumberOfTimesThenTheKeyBacksOff) {
  World world;
  int sent = 0;
  world.api.fault = [&](const client::ApiRequest&) { return ++sent, Fault::Throttled; };
  add(world, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  // 50 + 100 + 200 + 400 ms between the five attempts.
  world.advance(Duration::millis(750));
  EXPECT_EQ(sent, 5);
  EXPECT_EQ(world.engine.counters().deciders[0].failed_runs, 1u);
  world.advance(Duration::millis(10));
  EXPECT_EQ(sent, 6) << "the key runs again 10 ms later";
}

TEST(Engine, ARefusedWriteEndsItsChainAndTheKeyBacksOff) {
  World world;
  int runs = 0;
  add(world, [&](const View&, const api::ObjectKey& key, Time) {
    ++runs;
    Effects effects =
        Effects::write({Kind::Pod, "d", "absent", {}}, label({Kind::Pod, "d", "absent", {}}, "x"));
    effects.then(label(key, "never"));
    return effects;
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  EXPECT_EQ(runs, 1);
  world.advance(Duration::millis(35));
  EXPECT_EQ(runs, 3) << "10 ms, then 20 ms";
  EXPECT_EQ(label_of(world.engine.view().pods.find("d", "a")), "");
}

TEST(Engine, WritesOfAChainUseTheVersionOfTheAnswerBefore) {
  World world;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (label_of(pod) == "2") return Effects::nothing();
    Effects effects = Effects::write(key, label(key, "1", pod->meta.resource_version));
    client::Write second = label(key, "2");
    second.on_previous_version = true;
    return effects.then(second);
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  ASSERT_EQ(world.api.arrived.size(), 2u);
  EXPECT_EQ(world.api.arrived[0].body, R"({"metadata":{"labels":{"v":"1"},"resourceVersion":"101"}})");
  EXPECT_EQ(world.api.arrived[1].body, R"({"metadata":{"labels":{"v":"2"},"resourceVersion":"102"}})");
}

TEST(Engine, AFineReasonCountsAsSuccess) {
  World world;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    if (label_of(view.pods.find("d", "a")) == "done") return Effects::nothing();
    Effects effects = Effects::write(key, client::delete_object({Kind::Pod, "d", "absent", {}}, ""));
    return effects.then(label(key, "done"));
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  EXPECT_EQ(label_of(world.engine.view().pods.find("d", "a")), "done");
}

TEST(Engine, WhatADeleteRemovedIsGoneFromTheViewEvenWhenOldNewsCome) {
  World world;
  std::vector<std::string> seen;
  add(world, [&](const View& view, const api::ObjectKey& key, Time) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    seen.push_back(pod ? "there" : "gone");
    return pod ? Effects::write(key, client::delete_object(key, pod->meta.uid)) : Effects::nothing();
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.api.deliver(0);
  world.step();
  world.api.change(Kind::Pod, "d", "a", R"({"spec":{"x":1}})");
  world.api.answer();  // the delete, before the change is seen
  world.settle();
  EXPECT_EQ(seen, (std::vector<std::string>{"there", "gone"}));
}

TEST(Engine, AnAnswerThatComesAfterTheNewsOfTheDeletionBringsNothingBack) {
  World world;
  add(world, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.api.deliver(0);
  world.step();
  world.api.carry_out_only();
  world.api.remove(api::ref_of(Kind::Pod), "d", "a");
  world.api.deliver(0);
  world.settle();
  EXPECT_EQ(world.engine.view().pods.size(), 0u);
}

// A list says what there is: an answer from before it is news only of an object that the list names too.
TEST(Engine, AnAnswerFromBeforeAListBringsNothingBack) {
  for (const bool replaced : {true, false}) {
    World world;
    add(world, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
    world.api.put(Kind::Pod, kPodA);
    world.start();
    ASSERT_TRUE(world.api.deliver(0));
    world.step();
    ASSERT_TRUE(world.api.carry_out_only());
    world.api.remove(api::ref_of(Kind::Pod), "d", "a");
    if (replaced)
      world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"a","labels":{"v":"done"}}})");
    world.api.relist(api::ref_of(Kind::Pod));
    ASSERT_TRUE(world.api.deliver(0));
    world.step();
    ASSERT_TRUE(world.api.release());
    world.settle();
    const api::Pod* seen = world.engine.view().pods.find("d", "a");
    const Json* there = world.api.find(Kind::Pod, "d", "a");
    ASSERT_EQ(seen != nullptr, there != nullptr);
    if (seen) {
      EXPECT_EQ(*seen->raw, to_string(*there));
    }
  }
}

// The same of an object that no watch ever told of.
TEST(Engine, ACreateAnsweredAfterAListWithoutItBringsNothingBack) {
  World world;
  bool asked = false;
  add(world,
      [&](const View&, const api::ObjectKey&, Time) {
        if (std::exchange(asked, true)) return Effects::nothing();
        Json claim = Json::object();
        claim["metadata"]["name"] = "c";
        return Effects::write(kKeyA, client::create(Kind::ResourceClaim, "d", claim));
      },
      {client::itself(Kind::Pod),
       {Kind::ResourceClaim, {}, [](const View&, const client::Delta&, std::vector<api::ObjectKey>&) {}}});
  world.api.put(Kind::Pod, kPodA);
  world.start();
  while (world.api.deliver(0) || world.api.deliver(1)) world.step();
  ASSERT_TRUE(world.api.carry_out_only());
  world.api.remove(api::ref_of(Kind::ResourceClaim), "d", "c");
  world.api.relist(api::ref_of(Kind::ResourceClaim));
  while (world.api.deliver(0) || world.api.deliver(1)) world.step();
  ASSERT_TRUE(world.api.release());
  world.settle();
  EXPECT_EQ(world.engine.view().claims.size(), 0u);
}

TEST(Engine, AFailureKeepsWhatDidNotBeginFromBeginning) {
  for (const bool stops : {false, true}) {
    World world;
    world.api.put(Kind::Pod, kPodA);
    int runs = 0;
    const api::ObjectKey absent{Kind::Pod, "d", "absent", {}};
    add(world, [&](const View&, const api::ObjectKey& key, Time) {
      if (key.name != "a" || ++runs > 1) return Effects::nothing();
      Effects effects;
      effects.stop_on_failure = stops;
      effects.chains.push_back({absent, {label(absent, "taken")}});
      for (std::size_t i = 0; i < kWritesInFlightMax; ++i)
        effects.chains.push_back({absent, {label(absent, "taken")}});
      effects.chains.push_back({key, {label(key, "taken")}});
      return effects;
    });
    world.start();
    world.settle();
    EXPECT_EQ(label_of(world.engine.view().pods.find("d", "a")), stops ? "" : "taken");
  }
}

// A marked create of pod "made" that says "mine"; `faults` strike one request after the other.
struct MarkedCreate {
  explicit MarkedCreate(std::vector<Fault> strikes) : faults(std::move(strikes)) {
    world.api.put(Kind::Pod, kPodA);
    const auto decide = [this](const View&, const api::ObjectKey& key, Time) {
      if (key.name != "a" || ++runs > 1) return Effects::nothing();
      const Json object =
          *parse_json(R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"mine"}})");
      client::Write write = client::create(Kind::Pod, "d", object);
      write.mark = client::Write::Mark{{"spec", "said"}, "mine"};
      return Effects::write({Kind::Pod, "d", "made", {}}, std::move(write));
    };
    auto reconciler = std::make_unique<Scripted>(decide, std::vector{client::itself(Kind::Pod)});
    reconciler->settled = [this](const client::Outcome& outcome) { ok = outcome.chains.front().ok; };
    world.engine.add(std::move(reconciler));
    world.api.fault = [this](const client::ApiRequest& request) {
      if (request.name != "made" || next >= faults.size()) return Fault::None;
      return faults[next++];
    };
    world.start();
  }
  std::string said() const {
    const Json* made = world.api.find(Kind::Pod, "d", "made");
    return made ? made->find_path({"spec", "said"})->as_string() : "";
  }

  World world;
  std::vector<Fault> faults;
  std::size_t next = 0;
  int runs = 0;
  bool ok = true;  // settle() is told of failures only
};

TEST(Engine, AMarkedWriteIsFollowedUntilItsFateIsKnown) {
  const std::vector<Fault> long_outage(20, Fault::LostNotDone);
  for (const std::vector<Fault>& faults :
       {std::vector<Fault>{}, {Fault::LostDone}, {Fault::LostNotDone}, {Fault::ServerError}, long_outage}) {
    MarkedCreate create(faults);
    create.world.advance(Duration::minutes(5));
    EXPECT_EQ(create.said(), "mine");
    EXPECT_TRUE(create.ok);
    EXPECT_EQ(create.world.engine.counters().writes.refused, 0u);
  }
}

TEST(Engine, AMarkedWriteThatMeetsAnotherOnesObjectIsNotAccepted) {
  MarkedCreate create({});
  create.world.api.put(Kind::Pod,
                       R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"somebody else"}})");
  create.world.advance(Duration::minutes(5));
  EXPECT_EQ(create.said(), "somebody else");
  EXPECT_FALSE(create.ok);
  EXPECT_TRUE(create.world.engine.view().pods.find("d", "made")) << "what stands there is in the view";
}

// The test before shows what is right.
TEST(MuseumByHand, AlreadyExistsCountsAsOurs) {
  const WithDefect defect(KnownDefect::AlreadyExistsCountsAsOurs);
  MarkedCreate create({});
  create.world.api.put(Kind::Pod,
                       R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"somebody else"}})");
  create.world.advance(Duration::minutes(5));
  EXPECT_TRUE(create.ok);
}

TEST(Engine, ADeadlineWakesItsKey) {
  World world;
  std::vector<std::int64_t> at;
  const Time start = world.clock.now();
  add(world, [&](const View&, const api::ObjectKey&, Time now) {
    at.push_back((now - start).whole_seconds());
    Effects effects;
    effects.wake_at = now + Duration::seconds(7);
    return effects;
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.advance(Duration::seconds(20));
  EXPECT_EQ(at, (std::vector<std::int64_t>{0, 7, 14}));
}

TEST(Engine, AClockThatIsSetBackDelaysNothing) {
  World world;
  int runs = 0;
  add(world, [&](const View&, const api::ObjectKey&, Time now) {
    ++runs;
    Effects effects;
    effects.wake_at = now + Duration::seconds(7);
    return effects;
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  world.clock.advance(Duration::minutes(-60));
  world.settle();
  EXPECT_EQ(runs, 2);
  world.advance(Duration::seconds(7));
  EXPECT_EQ(runs, 3);
}

TEST(Engine, ASignalFromOutsideRunsItsKey) {
  World world;
  std::vector<std::string> seen;
  add(world, [&](const View&, const api::ObjectKey& key, Time) {
    seen.push_back(key.name);
    return Effects::nothing();
  });
  world.api.put(Kind::Pod, kPodA);
  world.engine.wake("scripted", kKeyA);
  world.start();
  world.settle();
  EXPECT_EQ(seen, std::vector<std::string>{"a"});
  world.engine.wake("scripted", kKeyA);
  world.engine.wake("nobody", kKeyA);
  world.settle();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "a"}));
}

TEST(Engine, AFollowerRunsNothingAndAStoppingEngineFinishesWhatIsUnderWay) {
  World world;
  add(world, [](const View& view, const api::ObjectKey& key, Time) { return label_once(view, key); });
  world.api.put(Kind::Pod, kPodA);
  world.engine.lead(Leading::No);
  world.start();
  world.settle();
  EXPECT_TRUE(world.api.log.empty());
  world.lead({7});
  world.step();
  EXPECT_EQ(world.api.requests_waiting(), 0u) << "the list of before the term is not enough";
  ASSERT_TRUE(world.api.deliver(1));
  world.step();
  EXPECT_EQ(world.api.requests_waiting(), 1u);

  const Time deadline = world.clock.now() + Duration::seconds(2);
  world.engine.begin_stop(deadline);
  EXPECT_FALSE(world.engine.stopped(world.clock.now()));
  EXPECT_TRUE(world.engine.stopped(deadline));
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  world.settle();
  EXPECT_TRUE(world.engine.stopped(world.clock.now()));
  EXPECT_EQ(world.api.log.size(), 1u) << "nothing is done for b any more";
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
  void settle(const View& view, const client::Outcome& outcome, Time) override {
    const client::ChainOutcome& chain = outcome.chains.at(0);
    settled.push_back(outcome.decision_id + (chain.ok ? " ok " : " failed ") + chain.last.reason +
                      label_of(view.pods.find("d", chain.key.name)));
  }
  std::vector<std::string> applied, settled;
  std::vector<api::ObjectKey> todo;
};

TEST(Engine, AStatefulDeciderMeetsEveryChangeAndEveryOutcome) {
  World world;
  Labeller labeller;
  world.engine.add(labeller);
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.api.deliver(0);
  world.step();
  world.api.remove(api::ref_of(Kind::Pod), "d", "a");
  world.settle();
  EXPECT_EQ(labeller.applied,
            (std::vector<std::string>{"a new", "b new", "term 0", "b changed", "a changed"}));
  EXPECT_EQ(labeller.settled, (std::vector<std::string>{"b ok done", "a failed NotFoundgone"}));
}

// The view of a follower may be behind what its predecessor wrote: it leads on lists of its own term.
TEST(Engine, ATermBeginsWithListsOfItsOwn) {
  World world;
  Labeller labeller;
  world.engine.add(labeller);
  std::vector<std::string> ran;
  add(world,
      [&](const View& view, const api::ObjectKey& key, Time) {
        ran.push_back(key.name + (view.pods.find(key.ns, key.name) ? "" : " gone"));
        return Effects::nothing();
      },
      {client::itself(Kind::Pod), client::itself(Kind::Node)});
  world.engine.lead(Leading::No);
  world.api.put(Kind::Pod, kPodA);
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  world.start();
  world.settle();
  EXPECT_EQ(labeller.applied, (std::vector<std::string>{"a new", "b new"})) << "the model is warm";
  EXPECT_TRUE(world.engine.synced());

  // What the watches of the follower have not told yet.
  world.api.remove(api::ref_of(Kind::Pod), "d", "a");
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"c"}})");
  labeller.applied.clear();
  world.lead({3});
  ASSERT_TRUE(world.api.deliver(2));  // one of two
  world.step();
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(world.engine.synced()) << "it stays ready";
  ASSERT_TRUE(world.api.deliver(3));
  world.step();
  EXPECT_EQ(labeller.applied, (std::vector<std::string>{"c new", "a changed", "term 3"}));
  EXPECT_EQ(ran, (std::vector<std::string>{"b", "c"})) << "every key that is there, once";
  EXPECT_GT(world.api.requests_waiting(), 0u) << "its deciders act";
}

TEST(Engine, AFollowerKeepsNothingOfWhatCameAndWent) {
  World world;
  Labeller labeller;
  world.engine.add(labeller);
  int asked = 0;
  add(world,
      [](const View&, const api::ObjectKey&, Time) {
        ADD_FAILURE() << "a follower decides nothing";
        return Effects::nothing();
      },
      {{Kind::Pod, {}, [&](const View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
          ++asked;
          keys.push_back(delta.key);
        }}});
  world.engine.lead(Leading::No);
  world.start();
  for (int n = 0; n < 100; ++n) {
    const std::string name = "p" + std::to_string(n);
    world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"("}})");
    world.settle();
    world.engine.wake("scripted", {Kind::Pod, "d", name, {}});
    world.api.remove(api::ref_of(Kind::Pod), "d", name);
    world.settle();
  }
  EXPECT_EQ(asked, 200) << "an index that keys come from hears of everything";
  EXPECT_EQ(labeller.applied.size(), 200u);
  const EngineCounters counters = world.engine.counters();
  EXPECT_EQ(counters.keys_waiting, 0u);
  EXPECT_EQ(counters.writes.writes + counters.events.noted, 0u);
  EXPECT_EQ(world.engine.view().pods.size(), 0u);
  EXPECT_FALSE(world.engine.next_wake());
}

TEST(Engine, ATermThatEndsLeavesNothingToRun) {
  World world;
  int runs = 0;
  add(world, [&](const View& view, const api::ObjectKey& key, Time now) {
    ++runs;
    if (key.name == "a") return label_once(view, key);
    Effects effects;
    effects.wake_at = now + Duration::seconds(1);
    return effects;
  });
  world.api.put(Kind::Pod, kPodA);
  world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"b"}})");
  world.api.fault = [](const client::ApiRequest&) { return Fault::Conflict; };
  world.start();
  while (world.api.deliver(0)) world.step();
  EXPECT_EQ(runs, 2);
  world.engine.lead(Leading::No);
  world.advance(Duration::minutes(10));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(world.engine.counters().keys_waiting + world.engine.counters().keys_running, 0u);
  world.api.fault = {};
  world.lead({2});
  world.settle();
  EXPECT_EQ(label_of(world.engine.view().pods.find("d", "a")), "done");
}

// A watch that began anew does not know that there were objects.
TEST(InformerHub, AResourceThatIsNotServedAnyMoreTakesNothingAway) {
  World world;
  int runs = 0;
  add(world, [&](const View&, const api::ObjectKey&, Time) { return ++runs, Effects::nothing(); });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  world.settle();
  world.lead({2});
  world.api.refuse_as_not_served(1);
  world.step();
  EXPECT_EQ(world.engine.view().pods.size(), 1u);
  EXPECT_EQ(runs, 1) << "it does not lead on a list of before";
  world.settle();
  EXPECT_EQ(runs, 2);
}

TEST(InformerHub, AResourceThatWasNeverServedHasNoObjects) {
  World world;
  add(world, [](const View&, const api::ObjectKey&, Time) { return Effects::nothing(); });
  world.start();
  world.api.refuse_as_not_served(0);
  world.step();
  EXPECT_TRUE(world.engine.synced());
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
  World world;
  add(world, [](const View&, const api::ObjectKey& key, Time) {
    Effects effects;
    effects.events.push_back({key, "uid", false, "Seen", "", "seen"});
    return effects;
  });
  world.api.put(Kind::Pod, kPodA);
  world.start();
  const SystemClock clock;
  Loop loop(world.engine, clock, "test-engine-loop-name");
  world.api.deliver(0);
  while (!loop.synced()) {
  }
  loop.stop(Duration::millis(1));
  EXPECT_EQ(world.engine.counters().deciders[0].runs, 1u);
}

}  // namespace
}  // namespace berth::control
