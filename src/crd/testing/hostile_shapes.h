// Definitions and objects of the size of a request that make one check each as expensive as it gets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace berth::crd {

inline constexpr std::size_t kHostileBytesMax = 3u << 20;

struct HostileDefinition {
  std::string name;
  std::vector<std::string> schemas;  // of its versions, as JSON
  std::string refusal;               // part of the error; empty where it is accepted
};

// An accepted schema with an object, and what the object was before (empty: a create).
struct HostileObject {
  std::string name, schema, object, old;
  std::string refusal;
};

std::vector<HostileDefinition> hostile_definitions();
// `bytes`: of an object, roughly.
std::vector<HostileObject> hostile_objects(std::size_t bytes);

}  // namespace berth::crd
