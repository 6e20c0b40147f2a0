// One engine over a FakeApi in virtual time: the fixture for tests of deciders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/testing/fake_api.h"

namespace berth::engine::testing {

struct EngineFixture {
  explicit EngineFixture(Time start = Time::from_seconds(1800000000));

  ManualClock clock;
  FakeApi api;
  SharedInformers informers;
  Engine engine;

  // Attaches the engine and starts the watches; call it after adding the deciders.
  void start();
  // Begins a term, like ControlPlane::lead.
  void lead(client::Leadership leadership);
  // Delivers requests and watches, in order, and steps until nothing more happens at this time.
  void run_until_idle();
  // settle(), then moves from deadline to deadline until `by` has passed.
  void advance(Duration by);
  // Steps the engine without delivering anything.
  void step();
};

// Steps until no work is ready.
void step_to_rest(Engine& engine, Time now);

// The decoded view of some JSON objects of one kind, for table tests of reconcile().
void put(client::View& view, api::Kind kind, std::string_view object);
// Texts of the effects of one run.
std::string run(client::Reconciler& reconciler, const client::View& view, const api::ObjectKey& key,
                Time now);

}  // namespace berth::engine::testing
