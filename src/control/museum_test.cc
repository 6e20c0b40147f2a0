// Defects of the museum (base/known_defects.h) that no storm sees, because what they would do harm to is
// protected twice; each shown by hand.
#include <gtest/gtest.h>

#include <functional>

#include "base/known_defects.h"
#include "control/testing/world.h"

namespace berth::control {
namespace {

using api::Kind;
using client::Effects;
using client::View;
using testing::Fault;
using testing::World;

constexpr const char* kPodA = R"({"metadata":{"namespace":"d","name":"a"}})";

// Creates the pod "made", which says "mine", once.
class MakesOne final : public client::Reconciler {
 public:
  std::string_view name() const override { return "makes-one"; }
  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Pod),
            {Kind::Node, {}, [](const View&, const client::Delta&, std::vector<api::ObjectKey>&) {}}};
  }
  Effects reconcile(const View&, const api::ObjectKey& key, Time) override {
    if (key.name != "a" || ++runs > 1) return Effects::nothing();
    const Json object = *parse_json(R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"mine"}})");
    client::Write write = client::create(Kind::Pod, "d", object);
    write.mark = client::Write::Mark{{"spec", "said"}, "mine"};
    return Effects::write({Kind::Pod, "d", "made", {}}, std::move(write));
  }
  void settle(const View&, const api::ObjectKey&, const client::Outcome& outcome, Time) override {
    ok = outcome.chains.front().ok;
  }

  int runs = 0;
  bool ok = true;  // settle() is told of failures only
};

struct Scene {
  Scene() {
    auto reconciler = std::make_unique<MakesOne>();
    one = reconciler.get();
    world.engine.add(std::move(reconciler));
    world.api.put(Kind::Pod, kPodA);
  }
  World world;
  MakesOne* one;
};

// What holds without the defect does not hold with it.
void expect_shown(KnownDefect defect, const std::function<bool(Scene&)>& holds) {
  Scene without;
  EXPECT_TRUE(holds(without));
  const WithDefect on(defect);
  Scene with;
  EXPECT_FALSE(holds(with));
}

TEST(MuseumByHand, UnknownFateTakenAsNotDone) {
  expect_shown(KnownDefect::UnknownFateTakenAsNotDone, [](Scene& scene) {
    bool lost = false;
    scene.world.api.fault = [&lost](const client::ApiRequest& request) {
      const bool strikes = request.name == "made" && !std::exchange(lost, true);
      return strikes ? Fault::LostNotDone : Fault::None;
    };
    scene.world.start();
    scene.world.advance(Duration::minutes(5));
    return scene.one->ok;
  });
}

TEST(MuseumByHand, AlreadyExistsCountsAsOurs) {
  expect_shown(KnownDefect::AlreadyExistsCountsAsOurs, [](Scene& scene) {
    scene.world.start();
    scene.world.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"else"}})");
    scene.world.advance(Duration::minutes(5));
    return !scene.one->ok;
  });
}

TEST(MuseumByHand, FirstCycleBeforeCaches) {
  expect_shown(KnownDefect::FirstCycleBeforeCaches, [](Scene& scene) {
    scene.world.start();
    EXPECT_TRUE(scene.world.api.deliver(0));
    scene.world.step();
    return scene.one->runs == 0;
  });
}

}  // namespace
}  // namespace berth::control
