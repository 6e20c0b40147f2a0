// One engine over a FakeApi in virtual time: what tests of deciders run in.
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

  // Attaches the engine and starts the watches; after the deciders were added.
  void start();
  // Begins a term, as ControlPlane::lead does.
  void lead(client::Leadership leadership);
  // Lets requests and watches through, in order, and steps until nothing happens without time passing.
  void run_until_idle();
  // settle(), then moves from deadline to deadline until `by` has passed.
  void advance(Duration by);
  // Steps the engine without letting anything through.
  void step();
};

// Steps until there is nothing to do at once.
void step_to_rest(Engine& engine, Time now);

// The decoded view of some JSON objects of one kind, for table tests of reconcile().
void put(client::View& view, api::Kind kind, std::string_view object);
// Texts of the effects of one run.
std::string run(client::Reconciler& reconciler, const client::View& view, const api::ObjectKey& key,
                Time now);

}  // namespace berth::engine::testing
