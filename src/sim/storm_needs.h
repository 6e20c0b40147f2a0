// The device requests of the pods in storms, by name: rows of the table in storm_needs.cc.
//
// Pure, any thread; the table is read once per program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::sim {

struct StormNeed {
  std::string name;
  Json devices;  // spec.devices of a claim
};

std::span<const StormNeed> storm_needs();
// Null when no row has this name.
const Json* storm_need(std::string_view name);

}  // namespace berth::sim
