#include "health/claim_info_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace berth::health {
namespace {

constexpr auto kYes = Registered::Yes, kNo = Registered::No;
constexpr auto kBoth = NodeOperations::PrepareAndUnprepare;

Time second(std::int64_t n) {
  return Time::from_seconds(1000 + n);
}

NeededClaim needs(const std::string& name, std::map<std::string, NodeOperations> drivers = {{"a", kBoth}}) {
  return {{"uid-" + name, "d", name}, std::move(drivers)};
}

NodePod user(const std::string& uid, std::vector<NeededClaim> claims) {
  return {uid, "d", uid, {}, std::move(claims)};
}

std::string text_of(const DriverCall& call) {
  std::string text = call.driver + (call.operation == ClaimOperation::Prepare ? " prepare" : " unprepare");
  for (const ClaimId& claim : call.claims) text += " " + claim.name;
  return text + "; ";
}

std::string text_of(const std::vector<DriverCall>& calls) {
  std::string text;
  for (const DriverCall& call : calls) text += text_of(call);
  return text;
}

ClaimResults all_done(const DriverCall& call) {
  ClaimResults results;
  for (const ClaimId& claim : call.claims) results[claim.uid];
  return results;
}

struct ClaimPreparation : ::testing::Test {
  // What is called now; the calls are then in `calls`.
  std::string due(NodePods pods, std::int64_t at = 0) {
    cache.retain(pods);
    calls = cache.due(pods, drivers, second(at));
    return text_of(calls);
  }
  std::string answer(const Result<ClaimResults>& results, std::int64_t at = 0) {
    return cache.answered(calls.at(0), results, second(at));
  }
  bool prepared(const NodePod& pod) {
    const ClaimInfos infos = cache.infos();
    for (const NeededClaim& claim : pod.claims) {
      const auto info = infos.find(claim.id.uid);
      if (!is_prepared_for(info == infos.end() ? nullptr : &info->second, claim, pod.uid, drivers))
        return false;
    }
    return true;
  }
  ClaimInfoCache cache;
  ClaimDrivers drivers = {{"a", kYes}, {"b", kYes}};
  std::vector<DriverCall> calls;
};

TEST_F(ClaimPreparation, OneCallADriverForAllClaimsOfAPod) {
  const NodePod pod =
      user("p", {needs("x"), needs("y", {{"a", kBoth}, {"b", kBoth}}), needs("z", {{"unknown", kBoth}})});
  EXPECT_EQ(due({pod}), "a prepare x y; b prepare y; ");
  EXPECT_EQ(text_of(cache.due({pod}, drivers, second(0))), "") << "they are in flight";
  EXPECT_FALSE(prepared(pod));
  for (const DriverCall& call : calls) EXPECT_EQ(cache.answered(call, all_done(call), second(1)), "");
  EXPECT_TRUE(prepared(pod));
  EXPECT_EQ(due({pod}, 2), "");
  EXPECT_EQ(cache.next_wake(), std::nullopt);
}

TEST_F(ClaimPreparation, ADriverThatWasNeverKnownChangesNothing) {
  drivers.clear();
  const NodePod pod = user("p", {needs("x")});
  EXPECT_EQ(due({pod}), "");
  EXPECT_TRUE(prepared(pod));
  EXPECT_TRUE(cache.infos().empty() && cache.failures().empty());
}

TEST_F(ClaimPreparation, ADriverThatLeftIsWaitedForAndNothingIsRemembered) {
  drivers["a"] = kNo;
  const NodePod pod = user("p", {needs("y", {{"a", kBoth}, {"b", kBoth}})});
  EXPECT_EQ(due({pod}), "");
  EXPECT_EQ(cache.failures().at("p"), "DRA driver a is not registered");
  EXPECT_TRUE(cache.infos().empty()) << "the pod can go without a driver";
  EXPECT_EQ(due({pod}), "");
  drivers["a"] = kYes;
  cache.retry_now();
  EXPECT_EQ(due({pod}), "a prepare y; b prepare y; ");
}

TEST_F(ClaimPreparation, TheLastPodOfTheClaimUnpreparesIt) {
  const NodePod one = user("p", {needs("x")}), two = user("q", {needs("x")});
  EXPECT_EQ(due({one, two}), "a prepare x; ") << "the answer counts for both";
  answer(all_done(calls[0]));
  EXPECT_EQ(due({one, two}), "");
  EXPECT_TRUE(prepared(one) && prepared(two));
  EXPECT_EQ(due({two}), "");
  EXPECT_EQ(due({}), "a unprepare x; ");
  const DriverCall last = calls[0];
  EXPECT_EQ(due({one}), "");
  EXPECT_EQ(cache.failures().at("p"), "ResourceClaim x is being unprepared");
  cache.answered(last, all_done(last), second(1));
  EXPECT_TRUE(cache.infos().empty());
  EXPECT_EQ(due({one}, 1), "a prepare x; ");
}

TEST_F(ClaimPreparation, FailuresAreToldInKubeletsWordsAndRepeatedWithBackoff) {
  const NodePod pod = user("p", {needs("x"), needs("y")});
  const Error broken(ErrorCode::Unavailable, "connection refused");
  const std::pair<Result<ClaimResults>, std::string> cases[] = {
      {broken, "NodePrepareResources: connection refused"},
      {ClaimResults{{"uid-x", {}}, {"uid-y", {"no GPU", {}}}},
       "NodePrepareResources failed for ResourceClaim y: no GPU"},
      {ClaimResults{}, "NodePrepareResources skipped 1 ResourceClaims"},
      {ClaimResults{{"uid-y", {}}, {"other", {}}},
       "NodePrepareResources returned result for unknown claim UID other"},
  };
  EXPECT_EQ(due({pod}), "a prepare x y; ");
  std::int64_t now = 0, wait = 1;
  for (const auto& [results, text] : cases) {
    EXPECT_EQ(answer(results, now), text);
    EXPECT_EQ(cache.failures().at("p"), text);
    EXPECT_EQ(cache.next_wake(), second(now + wait));
    EXPECT_EQ(due({pod}, now + wait - 1), "");
    now += wait;
    wait *= 2;
    EXPECT_EQ(due({pod}, now), now == 1 ? "a prepare x y; " : now == 15 ? "" : "a prepare y; ");
  }
  EXPECT_TRUE(prepared(pod)) << "each claim that the driver prepared counts";
  EXPECT_TRUE(cache.failures().empty());
}

TEST_F(ClaimPreparation, UnpreparingIsRepeatedUntilItSucceeds) {
  due({user("p", {needs("x")})});
  answer(Error(ErrorCode::Unavailable, "lost"));
  EXPECT_EQ(due({}, 1), "a unprepare x; ") << "it may have been prepared";
  EXPECT_EQ(answer(ClaimResults{{"uid-x", {"busy", {}}}}, 1),
            "NodeUnprepareResources failed for ResourceClaim x: busy");
  EXPECT_EQ(cache.next_wake(), second(2));
  drivers["a"] = kNo;
  EXPECT_EQ(due({}, 2), "");
  EXPECT_EQ(cache.next_wake(), std::nullopt) << "its registration is the next chance";
  drivers["a"] = kYes;
  cache.retry_now();
  EXPECT_EQ(due({}, 3), "a unprepare x; ");
  EXPECT_EQ(answer(all_done(calls[0]), 3), "");
  EXPECT_TRUE(cache.infos().empty());
}

TEST_F(ClaimPreparation, AClaimWhoseDriverSkipsUnpreparingIsForgotten) {
  due({user("p", {needs("x", {{"a", NodeOperations::Prepare}})})});
  EXPECT_EQ(due({}), "");
  EXPECT_EQ(cache.infos().size(), 1u) << "the call is in flight";
  cache.answered({"a", ClaimOperation::Prepare, {needs("x").id}, "p"}, ClaimResults{{"uid-x", {}}},
                 second(1));
  EXPECT_TRUE(cache.infos().empty());
}

TEST_F(ClaimPreparation, APodThatWentDuringItsCallLeavesNoFailure) {
  const NodePod pod = user("p", {needs("x")});
  due({pod});
  const DriverCall call = calls[0];
  due({});
  cache.answered(call, Error(ErrorCode::Unavailable, "lost"), second(1));
  EXPECT_TRUE(cache.failures().empty());
  EXPECT_EQ(cache.next_wake(), std::nullopt);
  EXPECT_EQ(due({}, 1), "a unprepare x; ");
}

TEST_F(ClaimPreparation, ARestartPreparesAgainOnlyWhatANewBootForgot) {
  const NodePod pod = user("p", {needs("x")});
  due({pod});
  answer(ClaimResults{{"uid-x", {"", {{{}, "node-1", "gpu-1", "", {"v.com/gpu=1"}}}}}});
  const ClaimInfos kept = cache.infos();
  EXPECT_EQ(kept.at("uid-x").drivers.at("a").devices.at(0).cdi_ids.at(0), "v.com/gpu=1");
  cache = {};
  cache.restore(kept, ClaimInfoCache::Boot::Same);
  EXPECT_EQ(due({pod}), "");
  EXPECT_EQ(cache.infos(), kept);
  cache = {};
  cache.restore(kept, ClaimInfoCache::Boot::Another);
  EXPECT_EQ(due({pod}), "a prepare x; ");
  cache = {};
  cache.restore(kept, ClaimInfoCache::Boot::Same);
  EXPECT_EQ(due({user("q", {needs("x")})}), "a prepare x; ") << "it may have been unprepared";
  cache = {};
  cache.restore(kept, ClaimInfoCache::Boot::Same);
  EXPECT_EQ(due({}), "a unprepare x; ");
}

TEST_F(ClaimPreparation, APodThatTakesAClaimOverKeepsItPrepared) {
  const NodePod one = user("p", {needs("x")}), two = user("q", {needs("x")});
  due({one});
  answer(all_done(calls[0]));
  EXPECT_EQ(due({two}), "a prepare x; ") << "never an unprepare under a pod that needs it";
  answer(all_done(calls[0]));
  EXPECT_TRUE(prepared(two));
}

TEST_F(ClaimPreparation, CallsAndClaimsOfACallAreBounded) {
  NodePods pods;
  for (int n = 0; n < 200; ++n)
    pods.push_back(user("p" + std::to_string(n), {needs("x" + std::to_string(n))}));
  due(pods);
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kClaimCallsPerDriverMax));
  for (std::vector<DriverCall> now = calls; !now.empty(); now = calls) {
    for (const DriverCall& call : now) cache.answered(call, all_done(call), second(1));
    due(pods, 1);
  }
  due({}, 2);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].claims.size(), kClaimsPerCallMax);
}

// A node with two drivers, whose pods, registrations, answers and crashes are random. The drivers' own record
// of prepared claims is the judge.
struct RandomNode {
  explicit RandomNode(std::uint64_t seed) : random(seed) {
    const auto only = NodeOperations::Prepare;
    claims = {needs("v"), needs("w", {{"b", kBoth}}), needs("x", {{"a", kBoth}, {"b", kBoth}}),
              needs("y", {{"a", kBoth}, {"b", only}}), needs("z", {{"stranger", kBoth}})};
  }
  void change_pods() {
    if (!pods.empty() && random.below(2)) {
      pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(random.below(pods.size())));
    } else if (pods.size() < 4) {
      NodePod pod = user("p" + std::to_string(++pod_count), {});
      for (const NeededClaim& claim : claims)
        if (random.below(3) == 0) pod.claims.push_back(claim);
      pods.push_back(std::move(pod));
    }
  }
  void change_driver() {
    const char* name = random.below(2) ? "a" : "b";
    const bool comes = !drivers.contains(name) || drivers.at(name) == kNo;
    drivers[name] = comes ? kYes : kNo;
    cache.retry_now();
  }
  void carry_out(const DriverCall& call, const ClaimId& claim) {
    if (call.operation == ClaimOperation::Prepare)
      prepared[call.driver].insert(claim.uid);
    else
      prepared[call.driver].erase(claim.uid);
  }
  void answer_one(std::uint64_t luck) {
    if (in_flight.empty()) return;
    const auto at = in_flight.begin() + static_cast<std::ptrdiff_t>(random.below(in_flight.size()));
    const DriverCall call = std::move(*at);
    in_flight.erase(at);
    ClaimResults results;
    for (const ClaimId& claim : call.claims) {
      const std::uint64_t fate = random.below(4);
      if (luck == 0 || fate > 0) carry_out(call, claim);
      if (luck == 0 || fate > 1)
        results[claim.uid];
      else if (fate == 1)
        results[claim.uid].error = "carried out in part";
    }
    const bool lost = luck == 2;
    cache.answered(call, lost ? Result<ClaimResults>(Error(ErrorCode::Unavailable, "lost")) : results, now);
  }
  void crash() {
    for (const DriverCall& call : in_flight)
      for (const ClaimId& claim : call.claims)
        if (random.below(2)) carry_out(call, claim);
    in_flight.clear();
    cache = {};
    cache.restore(checkpoint, ClaimInfoCache::Boot::Same);
  }
  // What the agent does after every event.
  void run() {
    cache.retain(pods);
    const std::uint64_t version = cache.version();
    const std::vector<DriverCall> calls = cache.due(pods, drivers, now);
    if (cache.version() != version || random.below(3) == 0) checkpoint = cache.infos();
    for (const DriverCall& call : calls) {
      EXPECT_EQ(drivers.at(call.driver), kYes);
      for (const ClaimId& claim : call.claims) {
        EXPECT_FALSE(is_in_flight(call.driver, claim)) << claim.name;
        const bool ends = call.operation == ClaimOperation::Unprepare;
        EXPECT_FALSE(ends && has_running_user(claim)) << claim.name;
      }
      in_flight.push_back(call);
    }
    for (const NodePod& pod : pods)
      if (is_ready(pod)) running.insert(pod.uid);
  }
  bool is_in_flight(const std::string& driver, const ClaimId& claim) const {
    for (const DriverCall& call : in_flight)
      if (call.driver == driver && std::count(call.claims.begin(), call.claims.end(), claim)) return true;
    return false;
  }
  bool has_running_user(const ClaimId& claim) const {
    return std::any_of(pods.begin(), pods.end(), [&](const NodePod& pod) {
      return running.contains(pod.uid) && std::any_of(pod.claims.begin(), pod.claims.end(),
                                                      [&](const auto& one) { return one.id == claim; });
    });
  }
  bool is_ready(const NodePod& pod) const {
    const ClaimInfos infos = cache.infos();
    return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const NeededClaim& claim) {
      const auto info = infos.find(claim.id.uid);
      return is_prepared_for(info == infos.end() ? nullptr : &info->second, claim, pod.uid, drivers);
    });
  }
  void check() const {
    for (const NodePod& pod : pods) {
      if (!is_ready(pod)) continue;
      for (const NeededClaim& claim : pod.claims)
        for (const auto& [driver, uids] : prepared) {
          const bool is_needed = claim.drivers.contains(driver) && drivers.contains(driver);
          EXPECT_TRUE(!is_needed || uids.contains(claim.id.uid)) << claim.id.name;
        }
    }
    for (const auto& [driver, uids] : prepared)
      for (const std::string& uid : uids) {
        if (driver == "b" && uid == "uid-y") continue;  // never unprepared
        const auto kept = checkpoint.find(uid);
        EXPECT_TRUE(kept != checkpoint.end() && kept->second.drivers.contains(driver))
            << driver << " " << uid;
      }
  }
  void settle() {
    drivers = {{"a", kYes}, {"b", kYes}};
    cache.retry_now();
    for (int round = 0; round < 20; ++round) {
      run();
      while (!in_flight.empty()) answer_one(0);
      now = now + Duration::minutes(2);
    }
    for (const NodePod& pod : pods) EXPECT_TRUE(is_ready(pod)) << pod.uid;
    for (const char* driver : {"a", "b"}) {
      std::set<std::string> wanted;
      for (const NodePod& pod : pods)
        for (const NeededClaim& claim : pod.claims)
          if (claim.drivers.contains(driver)) wanted.insert(claim.id.uid);
      std::set<std::string> got = prepared[driver];
      if (driver == std::string("b") && !wanted.contains("uid-y")) got.erase("uid-y");
      EXPECT_EQ(got, wanted) << driver;
    }
  }

  SeededRandom random;
  std::vector<NeededClaim> claims;
  NodePods pods;
  int pod_count = 0;
  ClaimDrivers drivers;
  std::map<std::string, std::set<std::string>> prepared = {{"a", {}}, {"b", {}}};  // as the drivers know it
  std::set<std::string> running;  // pods that were ready once, also before a crash
  std::vector<DriverCall> in_flight;
  ClaimInfoCache cache;
  ClaimInfos checkpoint;
  Time now = second(0);
};

TEST(ClaimPreparationJudge, DriversEndWithTheClaimsOfLivingPodsWhateverHappens) {
  constexpr std::uint64_t kSeeds = 1500;
  for (std::uint64_t seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNode node(seed);
    for (int step = 0; step < 60; ++step) {
      switch (node.random.below(8)) {
        case 0:
        case 1:
          node.change_pods();
          break;
        case 2:
          node.change_driver();
          break;
        case 3:
          node.crash();
          break;
        case 4:
          node.now = node.now + Duration::seconds(3);
          break;
        default:
          node.answer_one(node.random.below(3));
      }
      node.run();
      node.check();
    }
    node.settle();
  }
}

}  // namespace
}  // namespace berth::health
