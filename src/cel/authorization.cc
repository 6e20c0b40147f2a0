// The part of the authorization library that concerns device selectors: its functions are declared, but no
// variable holds an authorizer. Calls pass the checker with dynamic operands, count in the estimate, and fail
// at run time. Source: k8s.io/apiserver/pkg/cel/library/authz.go (1.27; selectors 1.31), its cost.go.
#include "cel/libraries.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

using Extents = std::span<const Extent>;

std::uint64_t check_cost(Extents, const Extent&) {
  constexpr std::uint64_t kCheckCost = 350000;  // leaves room for two
  return kCheckCost;
}

// A list, its text read once, and a requirement (a list and a struct) for every second character.
std::uint64_t selector_cost(Extents a, const Extent&) {
  constexpr std::uint64_t kRequirementCost = 50;
  const std::uint64_t size = size_of(a[1]);
  return kListCost + tenth(size) + (size / 2 + size % 2) * kRequirementCost;
}

// No value has these types, so no call is ever accepted.
Value never(std::span<Value>, Runtime&) {
  return Value::error("no such overload");
}

constexpr FunctionRow kAuthorizationRows[] = {
    {"path", "authorizer.(string) path_check", never},
    {"group", "authorizer.(string) group_check", never},
    {"serviceAccount", "authorizer.(string, string) authorizer", never},
    {"resource", "group_check.(string) resource_check", never},
    {"subresource", "resource_check.(string) resource_check", never},
    {"namespace", "resource_check.(string) resource_check", never},
    {"name", "resource_check.(string) resource_check", never},
    {"fieldSelector", "resource_check.(string) resource_check", never, selector_cost},
    {"labelSelector", "resource_check.(string) resource_check", never, selector_cost},
    {"check", "path_check.(string) decision", never, check_cost},
    {"check", "resource_check.(string) decision", never, check_cost},
    {"errored", "decision.() bool", never},
    {"error", "decision.() string", never},
    {"allowed", "decision.() bool", never},
    {"reason", "decision.() string", never},
};

}  // namespace

std::span<const FunctionRow> authorization_rows() {
  return kAuthorizationRows;
}

}  // namespace berth::cel
