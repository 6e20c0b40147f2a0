// Whatever is lost, refused, delayed or reordered, and whenever terms end and begin: the engine never has two
// writes of a key in flight, and after the faults the cluster is as its reconciler requires.
#include <gtest/gtest.h>

#include <map>

#include <rapidcheck.h>

#include "base/random.h"
#include "engine/testing/engine_fixture.h"

namespace berth::engine {
namespace {

using api::Kind;
using client::Effects;
using client::View;
using testing::EngineFixture;
using testing::InjectedFault;

constexpr std::size_t kPods = 4;
std::string pod_name(std::size_t n) {
  return "p" + std::to_string(n);
}

// Pods have a number (annotation "want"): an odd one wants a claim of the pod's name, an even one none; the
// pod's label is written last, on the version of the write before.
class Follower final : public client::Reconciler {
 public:
  std::string_view name() const override { return "follower"; }
  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Pod),
            {Kind::ResourceClaim,
             {},
             [](const View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
               keys.push_back({Kind::Pod, delta.key.ns, delta.key.name, {}});
             }}};
  }
  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod) return Effects::nothing();
    const std::string want(pod->meta.annotation("want"));
    const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
    const bool odd = !want.empty() && (want.back() - '0') % 2 == 1;
    Effects effects;
    effects.chains.push_back({key, {}});
    const api::ObjectKey claim_key{Kind::ResourceClaim, key.ns, key.name, {}};
    if (odd && !claim) effects.then(client::create(Kind::ResourceClaim, key.ns, claim_object(key.name)));
    if (!odd && claim) effects.then(client::delete_object(claim_key, claim->meta.uid));
    const auto label = pod->meta.labels.find("have");
    if (label == pod->meta.labels.end() || label->second != want) {
      Json patch = Json::object();
      patch["metadata"]["labels"]["have"] = want;
      effects.then(client::merge_patch(key, patch, pod->meta.uid, pod->meta.resource_version));
    }
    return effects.chains[0].writes.empty() ? Effects::nothing() : effects;
  }

 private:
  static Json claim_object(const std::string& name) {
    Json claim = Json::object();
    claim["metadata"]["name"] = name;
    return claim;
  }
};

struct Chaos {
  EngineFixture fixture;
  SeededRandom random;
  bool calm = false;
  std::uint64_t epoch = 0;

  explicit Chaos(std::uint64_t seed) : random(seed) {
    fixture.api.fault = [this](const client::ApiRequest&) {
      return calm || random.below(3) > 0 ? InjectedFault::None : static_cast<InjectedFault>(random.below(7));
    };
  }

  void external_change() {
    const std::string name = pod_name(random.below(kPods));
    const std::string want = std::to_string(random.below(10));
    if (!fixture.api.find(Kind::Pod, "d", name))
      fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name +
                                     R"(","annotations":{"want":")" + want + R"("}}})");
    else if (random.below(8) == 0)
      fixture.api.remove(api::ref_of(Kind::Pod), "d", name);
    else
      fixture.api.change(Kind::Pod, "d", name, R"({"metadata":{"annotations":{"want":")" + want + R"("}}})");
  }

  void change_term() {
    if (random.below(2) == 0)
      fixture.engine.lead(Leading::No);
    else
      fixture.lead({++epoch});
  }

  void one_move() {
    switch (random.below(8)) {
      case 7:
        if (random.below(8) == 0) change_term();
        break;
      case 0:
        external_change();
        break;
      case 1:
        fixture.engine.step(fixture.clock.now());
        break;
      case 2:
        if (fixture.api.requests_waiting() > 0)
          fixture.api.carry_out_only(random.below(fixture.api.requests_waiting()));
        break;
      case 5:
        if (fixture.api.answers_held() > 0) fixture.api.release(random.below(fixture.api.answers_held()));
        break;
      case 3:
        fixture.api.deliver(random.below(fixture.api.watches()));
        break;
      case 4:
        fixture.clock.advance(Duration::millis(static_cast<std::int64_t>(random.below(200))));
        break;
      default:
        if (random.below(10) == 0)
          fixture.api.relist(api::ref_of(random.below(2) == 0 ? Kind::Pod : Kind::ResourceClaim));
    }
  }
};

// A pod's claim has its name: two waiting requests with one name are two effects of one key.
bool one_request_a_key(const testing::FakeApi& api) {
  std::map<std::string, int> waiting;
  for (const std::string& name : api.waiting_names())
    if (++waiting[name] > 1) return false;
  return true;
}

TEST(EngineProperty, ConvergesAndNeverRunsAKeyTwiceAtOnce) {
  const bool held = rc::check("random faults", [] {
    Chaos chaos(*rc::gen::arbitrary<std::uint64_t>());
    EngineFixture& fixture = chaos.fixture;
    fixture.engine.add(std::make_unique<Follower>());
    fixture.start();
    for (int move = 0; move < 400; ++move) {
      chaos.one_move();
      RC_ASSERT(one_request_a_key(fixture.api));
    }
    chaos.calm = true;
    fixture.lead({++chaos.epoch});
    fixture.advance(Duration::minutes(2));
    for (std::size_t n = 0; n < kPods; ++n) {
      const std::string name = pod_name(n);
      const Json* pod = fixture.api.find(Kind::Pod, "d", name);
      const api::Pod* seen = fixture.engine.view().pods.find("d", name);
      RC_ASSERT((pod == nullptr) == (seen == nullptr));
      const Json* claim = fixture.api.find(Kind::ResourceClaim, "d", name);
      RC_ASSERT((claim == nullptr) == (fixture.engine.view().claims.find("d", name) == nullptr));
      if (!pod) continue;
      RC_ASSERT(*seen->raw == to_string(*pod));
      const std::string want(seen->meta.annotation("want"));
      RC_ASSERT(seen->meta.labels.at("have") == want);
      RC_ASSERT((claim != nullptr) == ((want.back() - '0') % 2 == 1));
    }
    RC_ASSERT(fixture.engine.idle());
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace berth::engine
