#include "engine/testing/engine_fixture.h"

#include <algorithm>

namespace berth::engine::testing {

EngineFixture::EngineFixture(Time start) : clock(start), api(clock), informers(api), engine(api, {}) {}

void EngineFixture::start() {
  engine.attach_to(informers);
  informers.start();
}

void EngineFixture::lead(client::Leadership leadership) {
  informers.relist([&] { engine.lead(Leading::Yes, leadership); });
}

void EngineFixture::step() {
  step_to_rest(engine, clock.now());
}

void EngineFixture::run_until_idle() {
  constexpr int kRoundsMax = 100000;
  for (int i = 0; i < kRoundsMax; ++i) {
    step();
    bool moved = api.answer();
    moved |= api.deliver_all();
    if (!moved) return;
  }
  BERTH_ASSERT(false, "the deciders never come to rest");
}

void EngineFixture::advance(Duration by) {
  const Time end = clock.now() + by;
  run_until_idle();
  for (auto wake = engine.next_wake(); wake && *wake <= end; wake = engine.next_wake()) {
    clock.advance_to(std::max(*wake, clock.now()));
    run_until_idle();
  }
  clock.advance_to(end);
  run_until_idle();
}

void step_to_rest(Engine& engine, Time now) {
  constexpr int kStepsMax = 100000;
  for (int i = 0; engine.step(now); ++i) BERTH_ASSERT(i < kStepsMax, "the engine never comes to rest");
}

void put(client::View& view, api::Kind kind, std::string_view object) {
  auto typed = api::decode_typed(kind, std::make_shared<const std::string>(object));
  BERTH_ASSERT(typed.ok(), "test objects are JSON");
  const api::ObjectMeta& meta = api::meta_of(*typed);
  view.put({kind, meta.ns, meta.name, {}}, *typed);
}

std::string run(client::Reconciler& reconciler, const client::View& view, const api::ObjectKey& key,
                Time now) {
  return client::to_text(reconciler.reconcile(view, key, now));
}

}  // namespace berth::engine::testing
