// A create of pod d/made with a mark, and what became of it.
#pragma once

#include <string>
#include <vector>

#include "engine/testing/engine_fixture.h"

namespace berth::engine::testing {

// spec.said is "mine"; `faults` apply to one request after the other.
class MarkedCreate {
 public:
  explicit MarkedCreate(std::vector<InjectedFault> faults);
  // spec.said of the pod that the API has, no matter who made it; empty: none.
  std::string said() const;

  EngineFixture fixture;
  bool ok = true;  // outcomes are of failures only

 private:
  class Creator;

  std::vector<InjectedFault> faults_;
  std::size_t next_ = 0;
};

}  // namespace berth::engine::testing
