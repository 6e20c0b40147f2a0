// The names of a CustomResourceDefinition, and its conditions: accepted unless another one of the group has
// them.
//
// Pure, any thread. Source: the naming and establishing controllers of apiextensions-apiserver 1.37.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace berth::crd {

inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// The names that definitions of one group have been given.
struct TakenNames {
  std::set<std::string, std::less<>> resources, kinds;

  void take(const Json& accepted);
};

// `crd` with the status that its names deserve, next to those that all others of its group have. Equal to
// `crd` when nothing changes.
Json judged(const Json& crd, const TakenNames& others, Time now);

// Null without a condition of this type.
const Json* condition_of(const Json& crd, std::string_view type);
bool is_established(const Json& crd);

// Sets the condition; its time changes with its status alone.
void set_condition(Json& crd, std::string_view type, bool is_true, std::string_view reason,
                   std::string_view message, Time now);

}  // namespace berth::crd
