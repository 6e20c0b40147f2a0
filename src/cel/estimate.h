// The largest possible cost of an expression, from its tree and the declared sizes of its variables.
//
// Pure. Cost: one walk, plus a search of the declared sizes for each operand. Saturates instead of
// overflowing. An API server accepts an expression by these sums, so they follow the source even where it
// looks wrong. Source: cel-go's checker/cost.go (0.29) with the estimates of its libraries and of
// k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cel/ast.h"

namespace berth::cel {

class Environment;

// How large the values of a type may be.
struct SizedType {
  std::uint64_t elements = 0;       // of a text, a list or a map
  const SizedType* key = nullptr;   // of a map
  const SizedType* item = nullptr;  // of a list or a map
  bool has_named_items = false;     // a map's items are selected as fields
  std::map<std::string, const SizedType*, std::less<>> fields;
};

// `root` is checked but not folded: constants cost what they cost in Kubernetes.
std::uint64_t estimate_cost(const Node& root, const Environment& environment);

}  // namespace berth::cel
